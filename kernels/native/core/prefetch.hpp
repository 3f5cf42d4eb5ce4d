// Asking for memory before it is needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace forebay {

// Asks for the first lines of a run of bytes: the processor guesses the rest. Any address will do.
inline void ask_for([[maybe_unused]] const std::uint8_t* run,
                    [[maybe_unused]] std::size_t nbytes) noexcept {
#if defined(__GNUC__)
  constexpr std::size_t kLine = 64, kMost = 512;
  for (std::size_t skip = 0; skip < std::min(nbytes, kMost); skip += kLine)
    __builtin_prefetch(run + skip);
#endif
}

}  // namespace forebay
