// Commands of qmadmin that are known and not there yet, with their abbreviations [spec 5.2]. A later issue moves a row to table.ts.

export const NOT_YET = {
  qset: ['qs'],
  qscan: ['qsc'],
  qlist: ['ql'],
  qdeletemsg: ['qdltm'],
  qchangeprio: ['qcp'],
  qchangequeue: ['qcq'],
  qchangetime: ['qct'],
  qchangeexptime: ['qcet'],
  qprinttrans: ['qpt'],
  qcommittrans: ['qcommit'],
  qaborttrans: ['qabort', 'qrollbacktrans'],
} as const satisfies Readonly<Record<string, readonly string[]>>;
