// What is pointed at: a row, a column or a cell of the picture. Words and matrix listen, and light up together.

export class Light {
  #listeners = [];
  row = null;
  column = null;
  home = null;
  /** The row that is lit while nothing is pointed at: the one of the step that is told. */

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
