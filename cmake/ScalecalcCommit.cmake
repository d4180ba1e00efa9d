# Writes the commit of SOURCE into the header OUTPUT, which changes with it alone: a script that
# every build runs (cmake -D SOURCE=... -D OUTPUT=... -P).
cmake_minimum_required(VERSION 3.25)
set(commit "")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS "${SOURCE}/.git")
  execute_process(COMMAND "${GIT_EXECUTABLE}" describe --always --dirty=+ --abbrev=10 --exclude=*
    WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
endif()
if(commit STREQUAL "")
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT "#pragma once

namespace scalecalc::cli {
/// A + stands for changes that are not committed.
inline constexpr char kCommit[] = \"@commit@\";
}  // namespace scalecalc::cli
")
