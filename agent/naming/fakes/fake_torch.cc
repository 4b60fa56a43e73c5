// Stands for a library of PyTorch's: one function under a name of it, at the same place whichever name that is.
// FUNCTION is the name, mangled.
extern "C" [[gnu::visibility("default"), gnu::noinline]] int FUNCTION(int a, int b) { return a * 31 + b; }
