// Which queues' usage has changed since their thresholds were last looked at [spec 5.6], and the looking. A command runs when the batch that
// reached the limit is durable. Without a threshold command in the space nothing is noted.
import type { Event, EventSink } from '../queue/event.ts';
import type { Queue } from '../queue/queue.ts';
import { checkThresholds, hasThreshold } from '../queue/threshold.ts';
import type { QueueSpace } from '../queue/space.ts';

export interface ThresholdPorts {
  readonly space: QueueSpace;
  readonly out: EventSink;
  /** Runs a queue's command when all that was decided on it is durable. */
  readonly fire: (queue: Queue, command: string) => void;
}

export class ThresholdWatch {
  private readonly ports: ThresholdPorts;
  private isWanted = false;
  private readonly changed = new Set<Queue>();

  constructor(ports: ThresholdPorts) {
    this.ports = ports;
    this.redefined();
    for (const queue of ports.space.queues()) this.touched(queue);
  }

  /** Queues were made, changed or taken away. */
  redefined(): void {
    this.isWanted = this.ports.space.queues().some(hasThreshold);
  }

  /** This queue's usage has changed. */
  touched(queue: Queue | undefined): void {
    if (this.isWanted && queue !== undefined && hasThreshold(queue)) this.changed.add(queue);
  }
  /** The same of the queue with this number. */
  touchedNumber(queue: number): void {
    if (this.isWanted) this.touched(this.ports.space.queueByNumber(queue));
  }

  /** An event is about to be applied. */
  note(event: Event): void {
    if (!this.isWanted) return;
    const { space } = this.ports;
    if (event.kind === 'branchEnded') {
      for (const queue of space.branches.find(event.branch)?.queues ?? []) this.touchedNumber(queue);
    }
    if (event.kind !== 'removed' && event.kind !== 'moved' && event.kind !== 'requeued') return;
    this.touched(space.queueOf(space.entryById(event.id)));
    if (event.kind !== 'removed') this.touchedNumber(event.queue);
  }

  get isDue(): boolean {
    return this.changed.size > 0;
  }

  /** Looks at what changed; a queue that is being walked is looked at later. */
  look(): void {
    const { space, out, fire } = this.ports;
    const queues = [...this.changed];
    this.changed.clear();
    for (const queue of queues) {
      if (queue.walked) this.changed.add(queue);
      else checkThresholds(space, queue, { out, fire });
    }
  }
}
