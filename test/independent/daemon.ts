// The daemon that the tests of a file talk to: a child process on a configuration like ubbconfig.example, and the clients that were
// connected to it, which are cut when their test ends.
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { type DaemonSetup, TestDaemon } from '../support/daemon.ts';
import { Client } from './client.ts';

export class Peer {
  private daemon: TestDaemon | null = null;

  /** A daemon for all tests of a file or describe block. */
  static forAll(setup: DaemonSetup): Peer {
    const peer = new Peer();
    beforeAll(async () => {
      peer.daemon = await TestDaemon.start({ ...setup, scope: 'caller' });
    });
    afterAll(() => peer.daemon?.dispose());
    return peer;
  }

  /** A client on which HELLO was answered. */
  join(): Promise<Client> {
    return this.cutAfterTest(Client.join(this.address));
  }

  /** A client that has said nothing yet. */
  dial(): Promise<Client> {
    return this.cutAfterTest(Client.dial(this.address));
  }

  private get address(): string {
    return this.daemon?.address ?? '';
  }

  private async cutAfterTest(opening: Promise<Client>): Promise<Client> {
    const client = await opening;
    onTestFinished(() => client.drop());
    return client;
  }
}
