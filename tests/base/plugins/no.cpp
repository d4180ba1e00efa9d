/// A library, but no plug-in.
extern "C" __attribute__((visibility("default"))) int scalecalc_something() {
  return 0;
}
