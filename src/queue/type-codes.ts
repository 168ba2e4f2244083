// Buffer types and subtypes of a space's messages as small numbers: a row has two bytes for them.

const CODE_MAX = 0xffff;

export class TypeCodes {
  private readonly types: { readonly type: string; readonly subtype: string }[] = [{ type: '', subtype: '' }];
  private readonly codes = new Map<string, number>([['\0', 0]]);

  /** CODE_MAX, once there are more kinds than codes. */
  code(type: string, subtype: string): number {
    const key = `${type}\0${subtype}`;
    let code = this.codes.get(key);
    if (code === undefined) {
      code = Math.min(this.types.length, CODE_MAX);
      if (code === this.types.length) this.types.push({ type, subtype });
      this.codes.set(key, code);
    }
    return code;
  }

  /** By code. */
  names(): (readonly [string, string])[] {
    return this.types.map(({ type, subtype }) => [type, subtype] as const);
  }

  /** null: only the record knows. */
  of(code: number): { type: string; subtype: string } | null {
    return this.types[code] ?? null;
  }
}
