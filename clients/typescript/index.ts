// Everything that is public in @tmqueue/client.
export {
  type Qme,
  QME,
  qmeName,
  RVAL,
  TP_CMT,
  TPAUTH,
  type Tperrno,
  TPERRNO,
  tperrnoName,
  TPFLAG,
  TPQ,
  TPQQOS,
  TPU,
} from '../../proto/codes.ts';
export type {
  QueueInfo,
  QueueSettings,
  ReloadItem,
  ReloadOutcome,
  ServerInfo,
  ServerLine,
  SpaceInfo,
} from '../../proto/admin.ts';
export type { RedriveInfo, RedriveItem, RedriveOptions } from '../../proto/redrive.ts';
export type {
  ChangeInfo,
  MessageAction,
  MessageInfo,
  MessageSelection,
  TransactionInfo,
} from '../../proto/message-admin.ts';
export type { QueueStatistics, SpaceStatistics, Statistics } from '../../proto/message-statistics.ts';
export { DBMS_AQ, DBMS_AQADM } from '../../proto/aq/constants.ts';
export { AqAdmin, type QueueTableOptions, type AqQueueOptions, type SubscriberOptions } from './aq/admin.ts';
export { Aq } from './aq/aq.ts';
export { AqError } from './aq/error.ts';
export type { AqAgentLike, AqMessage, AqMessageOptions } from './aq/message.ts';
export { AqQueue, type DeqOptions, type EnqOptions } from './aq/queue.ts';
export { type Address, parseAddress, parseAddresses } from './address.ts';
export {
  type AdminAnswer,
  type AdminQuestion,
  type DestroyOptions,
  type Directions,
  type ListOptions,
  QueueAdmin,
  type QueueOptions,
  type QueuePage,
  type Redriven,
  type ReloadAnswer,
  type ServerList,
} from './admin.ts';
export { carray, json, mbstring, type Received, string, typed, TypedBuffer, xml, xOctet } from './buffer.ts';
export type { AnsweredCall, BufferType, ServiceExtras } from './caller.ts';
export { type ConsumeOptions, type Handler, type IterateOptions, OpenMessage } from './consumer.ts';
export {
  Context,
  type ServeOptions,
  tpinit,
  type TpinitOptions,
  type TransactionOptions,
  type TransactionOutcome,
} from './context.ts';
export { ServiceFailure, TpError, type TpErrorInit } from './error.ts';
export type { TPTRANID } from './initiator.ts';
export type { MibRequest } from './mib/asked.ts';
export type { MibValue } from './mib/attribute.ts';
export { MIB, TAERROR, type TaError, taErrorName } from './mib/codes.ts';
export type { MibReply } from './mib/tpadmcall.ts';
export { gp_mktime, type Tm } from './mktime.ts';
export { Message } from './message.ts';
export { type CallExtras, type DequeueExtras, type GetOptions, type PutOptions, Queue } from './queue.ts';
export type { Service, ServiceCall } from './service.ts';
export { corridText, TPQCTL } from './tpqctl.ts';
export { TPED, tpstrerror, tpstrerrordetail } from './texts.ts';
export { Transaction } from './transaction.ts';
export { tpalloc, TpBuffer, tpfree, tprealloc, tptypes } from './typed-memory.ts';
export type { UnsolicitedHandler } from './unsolicited.ts';
export { userlog } from './userlog.ts';
