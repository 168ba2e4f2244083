// Rows of the specification that have no test in q/, each with its reason. An entry leaves this table when its test comes.

export const WITHOUT_TEST: Readonly<Record<string, string>> = {};
