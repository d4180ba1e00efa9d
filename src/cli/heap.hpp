#pragma once

namespace scalecalc::cli {

/// That the process is the program's own, which may say how its heap grows: main's part. The Python
/// module runs the same commands in a process that is not.
void claim_heap();

/// Takes 32 MiB of the heap at once, where memory is not limited, and asks the kernel for huge
/// pages there: a trace of 1000 blocks meets some 4000 page faults else, a fifth of its time. Pages
/// that are not touched are not there. Nothing in a process that is not claimed, or where the C
/// library is not glibc.
void expect_large_heap();

}  // namespace scalecalc::cli
