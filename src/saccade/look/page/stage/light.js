// The highlight: a row (a word that attends) of one answer, a column (a word attended to), or a cell.
// The stage, the lens and all models listen to it, so that they highlight the same.

const itself = (of, row, to) => (of === to ? row : null);

export class Light {
  #listeners = new Set();
  /** The highlight while nothing is pointed at: the selected word, or the step shown. */
  home = { row: null, column: null, of: 0 };
  row = null;
  column = null;
  of = 0;
  /** The word of the answer `to` that stands for a word of the answer `of`, or null. */
  twin = itself;

  listen(act) {
    this.#listeners.add(act);
  }

  /** Forget all listeners, before the page is drawn anew. */
  reset(home) {
    this.#listeners.clear();
    this.home = home;
    this.twin = itself;
    Object.assign(this, home);
  }

  /** Set the highlight for when nothing is pointed at, unless a word was selected. */
  rest(home) {
    if (this.home.row !== null || this.home.column !== null) return;
    this.home = home;
    if (this.empty) this.clear();
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

  /** The lit word of an answer: its own, or the counterpart of another answer's. */
  rowOf(answer) {
    return this.row === null ? null : this.twin(this.of, this.row, answer);
  }

  get empty() {
    return this.row === null && this.column === null;
  }
}
