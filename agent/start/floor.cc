#include <sstream>
#include <string>

#include "agent/floor/own_versions.h"

// PyTorch's headers call it. In C++20 it is a function of its own, which libstdc++ has since GCC 11 (GLIBCXX_3.4.29).
#if defined(__GLIBCXX__) && _GLIBCXX_USE_CXX11_ABI && __cplusplus > 201703L
template std::string std::stringbuf::str() const&;
#endif
