#!/usr/bin/env node
// Where the command `tmqueue` starts: signals of the daemon are heard before the program is read, which takes a while.
import { hearSignals } from './signals.ts';

if (process.argv[2] === 'start') hearSignals();
const { main } = await import('./program.ts');
process.exitCode = await main(process.argv);
