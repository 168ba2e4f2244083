// Everything that is public in @tmqueue/client.
export {
  type Qme,
  QME,
  qmeName,
  RVAL,
  type Tperrno,
  TPERRNO,
  tperrnoName,
  TPFLAG,
  TPQ,
  TPQQOS,
} from '../../proto/codes.ts';
export type { QueueInfo, QueueSettings, SpaceInfo } from '../../proto/admin.ts';
export type { QueueStatistics, SpaceStatistics, Statistics } from '../../proto/message.ts';
export { type Address, parseAddress, parseAddresses } from './address.ts';
export {
  type DestroyOptions,
  type Directions,
  type ListOptions,
  QueueAdmin,
  type QueueOptions,
  type QueuePage,
} from './admin.ts';
export { carray, json, mbstring, type Received, string, typed, TypedBuffer, xml, xOctet } from './buffer.ts';
export type { BufferType, ServiceExtras } from './caller.ts';
export { type ConsumeOptions, type Handler, type IterateOptions, OpenMessage } from './consumer.ts';
export {
  Context,
  type ServeOptions,
  tpinit,
  type TpinitOptions,
  type TransactionOptions,
} from './context.ts';
export { ServiceFailure, TpError, type TpErrorInit } from './error.ts';
export { Message } from './message.ts';
export { type CallExtras, type DequeueExtras, type GetOptions, type PutOptions, Queue } from './queue.ts';
export type { Service, ServiceCall } from './service.ts';
export { corridText, TPQCTL } from './tpqctl.ts';
export { Transaction } from './transaction.ts';
