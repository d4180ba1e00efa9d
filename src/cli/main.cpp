#include "cli/app.hpp"

int main(int argc, char** argv) {
  return scalecalc::cli::run(argc, argv, scalecalc::cli::commands());
}
