// UTF-8 (RFC 3629): whether bytes are it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

// Whether `size` bytes are well-formed UTF-8: no overlong forms, no surrogates, nothing above
// U+10FFFF, no character cut short.
bool is_utf8(const std::uint8_t* data, std::size_t size) noexcept;

}  // namespace forebay
