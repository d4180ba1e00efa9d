#include "library.hpp"

int main(int argc, char** argv) {
  return scalecalc::package::run(argc, argv);
}
