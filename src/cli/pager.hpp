#pragma once

#include <string>

/// Long text on a terminal, a screen at a time.
namespace scalecalc::cli {

/// Shows a text that has more lines than the terminal behind standard output by $SCALECALC_PAGER,
/// $PAGER or less -FRX. False where that is no terminal, the text fits, the variable is "" or cat,
/// or there is no such program: nothing is shown then. Throws Error(fault).
bool show_in_pager(const std::string& text);

}  // namespace scalecalc::cli
