// The systems that `--peer` knows.
import { beanstalkd } from './beanstalkd.ts';
import { bullmq } from './bullmq.ts';
import type { Peer, PeerName } from './peer.ts';
import { pgBoss } from './pg-boss.ts';
import { rabbitmqClassic, rabbitmqQuorum } from './rabbitmq.ts';
import { redis } from './redis.ts';

export const PEER: Readonly<Record<PeerName, Peer>> = {
  beanstalkd,
  redis,
  'rabbitmq-quorum': rabbitmqQuorum,
  'rabbitmq-classic': rabbitmqClassic,
  bullmq,
  'pg-boss': pgBoss,
};
