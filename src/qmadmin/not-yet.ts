// Commands of qmadmin that are known and not there yet, with their abbreviations [spec 5.2]. A later issue moves a row to table.ts.

export const NOT_YET = {
  chdl: [],
  dsdl: [],
  livtoc: [],
  ipcs: [],
  ipcrm: [],
  qspacechange: ['qspch'],
  qsize: [],
  qspacedestroy: ['qspds'],
  qaddext: [],
  qdestroy: ['qds'],
  paginate: ['page'],
  history: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;
