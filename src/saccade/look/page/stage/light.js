// What is pointed at: a row (a word that attends) of one answer, a column (a word attended to), or a cell.
// The stage, the lens and all models listen to it, so that they match.

export class Light {
  #listeners = new Set();
  /** What is lit without a pointer: the selected word, or the step shown. */
  home = { row: null, column: null, of: 0 };
  row = null;
  column = null;
  of = 0;

  listen(act) {
    this.#listeners.add(act);
  }

  /** Forget all listeners, before the page is drawn anew. */
  reset(home) {
    this.#listeners.clear();
    this.home = home;
    Object.assign(this, home);
  }

  set(row, column, of = this.of) {
    if (row === this.row && column === this.column && of === this.of) return;
    Object.assign(this, { row, column, of });
    this.tell();
  }

  tell() {
    for (const act of this.#listeners) act(this);
  }

  clear() {
    this.set(this.home.row, this.home.column, this.home.of);
  }

  get empty() {
    return this.row === null && this.column === null;
  }
}
