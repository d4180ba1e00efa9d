#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "scalecalc/error.hpp"

/// What the fuzz targets share. A target reads bytes as the program reads a user's file or line,
/// and holds what it understood against what the reader's header promises.
namespace scalecalc::fuzz {

/// Ends the process, so that libFuzzer keeps the input.
[[noreturn]] void failed(const char* what, std::string_view details = {});
inline void hold(bool is_true, const char* what, std::string_view details = {}) {
  if (!is_true) failed(what, details);
}
/// An error that a user may see: of the input, and on one line of printable text.
void hold_message(const Error& error);

/// Whether the input was taken. What is thrown must be an Error, as hold_message() wants it.
template <class Read>
bool accepts(const Read& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    hold_message(error);
    return false;
  }
}

/// A file of that name with these bytes, in a folder of this process, in memory where the system
/// has such a folder. The next call with the same name writes over it.
std::string file_of(std::string_view bytes, const std::string& name);
/// That folder.
const std::string& folder();

/// The input cut at its first `separator`: what stands before, and the rest.
struct Halves {
  std::string_view first, rest;
};
Halves halves(std::string_view input, char separator);

/// One input of the target.
void one(std::string_view input);

}  // namespace scalecalc::fuzz
