// Which queues of a connection have a handle [PROTOCOL 5 BIND]. A queue that is used a second time is bound; until the answer comes, and for
// queues beyond the limit, requests carry the names. Must not know sockets: it says when to send a BIND.
import { LIMIT } from '../../proto/codes.ts';
import type { QueueNames, QueueRef } from '../../proto/message.ts';

export class Binding {
  readonly names: QueueNames;
  handle = -1;
  asked = false;

  constructor(names: QueueNames) {
    this.names = names;
  }
}

export class Bindings {
  private readonly spaces = new Map<string, Map<string, Binding>>();
  private count = 0;

  /** How to name the queue now. `bind` is called when this is the moment to ask for a handle. */
  refOf(names: QueueNames, bind: (binding: Binding) => void): QueueRef {
    let queues = this.spaces.get(names.qspace);
    if (queues === undefined) {
      if (this.count >= LIMIT.BINDINGS) return names;
      queues = new Map();
      this.spaces.set(names.qspace, queues);
    }
    const binding = queues.get(names.qname);
    if (binding !== undefined) {
      if (binding.handle >= 0) return binding.handle;
      if (!binding.asked) {
        binding.asked = true;
        bind(binding);
      }
    } else if (this.count < LIMIT.BINDINGS) {
      this.count++;
      queues.set(names.qname, new Binding(names));
    }
    return names;
  }
}
