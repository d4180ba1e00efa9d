#pragma once

namespace scalecalc::cli {

bool is_terminal(int descriptor);
/// Its columns; 100 for what is no terminal.
int terminal_width(int descriptor);
/// Its rows; 0 for what is no terminal, does not say, or cannot move its cursor.
int terminal_height(int descriptor);
/// Whether colours are welcome there (a terminal, not a dumb one, no NO_COLOR).
bool takes_color(int descriptor);
/// Whether the locale's characters are those of Unicode.
bool takes_unicode();

}  // namespace scalecalc::cli
