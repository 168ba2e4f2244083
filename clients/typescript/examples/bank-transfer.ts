// Money between two banks, each a queue space with a log of its own. An account is one message: its corrid is the account's number, its data
// the balance. A transfer takes two of these messages, changes them and puts them back, in one transaction over both queue spaces: kill this
// program or the daemon at any moment, and every account is there once and no money has come or gone.
//
//     node bank-transfer.js open          opens ten accounts with 1,000 in each bank
//     node bank-transfer.js transfer 100  makes a hundred transfers; several programs may at the same time
//     node bank-transfer.js audit         reads all accounts in one transaction and adds them up
import { type Transaction, TpError, tpinit } from '../index.ts';

const NUMBERS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
/** Every account, in the order in which everybody takes them: two who each hold what the other waits for cannot happen then. */
const EAST = NUMBERS.map((n) => ({ bank: 'EAST', corrid: `east ${n}` }));
const WEST = NUMBERS.map((n) => ({ bank: 'WEST', corrid: `west ${n}` }));
const ACCOUNTS = [...EAST, ...WEST];
const FIRST_BALANCE = 1000;

type Account = (typeof ACCOUNTS)[number];

const [command = '', howMany = '1'] = process.argv.slice(2);
const commands: Readonly<Record<string, () => Promise<void>>> = {
  open,
  transfer: () => transfers(Number(howMany)),
  audit,
};
const run = commands[command];
if (run === undefined) {
  process.stderr.write('usage: node bank-transfer.js open | transfer [count] | audit\n');
  process.exit(64);
}
const ctx = await tpinit({ cltname: 'bank' });
try {
  await run();
} finally {
  await ctx.tpterm();
}

async function open(): Promise<void> {
  await ctx.transaction(async (tx) => {
    for (const account of ACCOUNTS) await putBack(tx, account, FIRST_BALANCE);
  });
  say(`${ACCOUNTS.length} accounts are open`);
}

async function transfers(count: number): Promise<void> {
  let failed = 0;
  for (let i = 0; i < count; i++) {
    try {
      await transfer(any(EAST), any(WEST));
    } catch (error) {
      // Rolled back (TPEABORT, TPETIME), or of unknown outcome (the daemon was killed during the commit): whole or not at all either way.
      // Whoever must know which keeps a message about the transfer in the same transaction.
      if (!TpError.is(error)) throw error;
      failed++;
    }
  }
  say(`${count - failed} transfers, ${failed} not known to be done`);
}

async function transfer(east: Account, west: Account): Promise<void> {
  await ctx.transaction(async (tx) => {
    const [inEast, inWest] = [await takeOut(tx, east), await takeOut(tx, west)];
    // Either way, and never more than there is.
    const wanted = Math.floor(Math.random() * 200) - 100;
    const amount = Math.max(-inWest, Math.min(inEast, wanted));
    await putBack(tx, east, inEast - amount);
    await putBack(tx, west, inWest + amount);
  });
}

async function audit(): Promise<void> {
  let sum = 0;
  // What an open transaction has taken nobody else can take, so these are the balances of one moment.
  await ctx.transaction(async (tx) => {
    for (const account of ACCOUNTS) {
      const balance = await takeOut(tx, account);
      sum += balance;
      await putBack(tx, account, balance);
    }
  });
  const balanced = sum === ACCOUNTS.length * FIRST_BALANCE;
  say(`${ACCOUNTS.length} accounts, ${sum} in all: ${balanced ? 'balanced' : 'NOT BALANCED'}`);
  process.exitCode = balanced ? 0 : 1;
}

/** The balance of an account that is then in this transaction's hands; waits while another transaction has it. */
async function takeOut(tx: Transaction, { bank, corrid }: Account): Promise<number> {
  const message = await tx.queue<number>(bank, 'ACCOUNTS').get({ corrid, wait: 10_000 });
  if (message === null) throw new Error(`there is no account "${corrid}": open them first`);
  return message.data;
}

async function putBack(tx: Transaction, { bank, corrid }: Account, balance: number): Promise<void> {
  await tx.queue<number>(bank, 'ACCOUNTS').put(balance, { corrid });
}

function any(accounts: readonly Account[]): Account {
  return accounts[Math.floor(Math.random() * accounts.length)] as Account;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
