#include "cli/app.hpp"
#include "cli/heap.hpp"

int main(int argc, char** argv) {
  scalecalc::cli::claim_heap();
  return scalecalc::cli::run(argc, argv, scalecalc::cli::commands());
}
