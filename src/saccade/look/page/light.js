// The highlighted row, column or cell of the figure. Words and matrix listen to it, so that they match.

export class Light {
  #listeners = [];
  row = null;
  column = null;
  home = null;
  /** The row that is highlighted without a pointer: that of the step shown. */

  listen(act) {
    this.#listeners.push(act);
  }

  set(row, column) {
    if (row === this.row && column === this.column) return;
    [this.row, this.column] = [row, column];
    for (const act of this.#listeners) act(this);
  }

  clear() {
    this.set(this.home, null);
  }
}
