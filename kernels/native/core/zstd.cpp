#include "zstd.hpp"

#include <initializer_list>
#include <type_traits>

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#endif

namespace forebay {
namespace {

// The functions of libzstd's stable interface that are used, as its manual declares them. They are
// looked up at run time: the library is on every Linux system that has a package manager, its
// headers are not, and a build must not depend on them.
struct Library {
  void* (*create_context)() = nullptr;
  std::size_t (*free_context)(void*) = nullptr;
  std::size_t (*decompress)(void*, void*, std::size_t, const void*, std::size_t) = nullptr;
  std::size_t (*decompress_with)(void*, void*, std::size_t, const void*, std::size_t,
                                 const void*) = nullptr;
  void* (*create_dictionary)(const void*, std::size_t) = nullptr;
  std::size_t (*free_dictionary)(void*) = nullptr;
  unsigned long long (*content_size)(const void*, std::size_t) = nullptr;
  unsigned (*is_error)(std::size_t) = nullptr;
  unsigned (*version)() = nullptr;
  bool whole = false;

  Library() noexcept {
#if defined(__unix__) || defined(__APPLE__)
    void* handle = nullptr;
    for (const char* name : {"libzstd.so.1", "libzstd.1.dylib", "libzstd.so"})
      if (handle == nullptr) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    const auto find = [handle](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      return function != nullptr;
    };
    whole = find(create_context, "ZSTD_createDCtx") && find(free_context, "ZSTD_freeDCtx") &&
            find(decompress, "ZSTD_decompressDCtx") &&
            find(decompress_with, "ZSTD_decompress_usingDDict") &&
            find(create_dictionary, "ZSTD_createDDict") &&
            find(free_dictionary, "ZSTD_freeDDict") &&
            find(content_size, "ZSTD_getFrameContentSize") && find(is_error, "ZSTD_isError") &&
            find(version, "ZSTD_versionNumber");
#endif
  }
};

const Library& library() noexcept {
  static const Library found;
  return found;
}

struct Context {
  void* ready = library().create_context();
  Context() = default;
  ~Context() {
    if (ready != nullptr) library().free_context(ready);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

void* context() noexcept {
  static thread_local const Context mine;
  return mine.ready;
}

}  // namespace

bool zstd_found() noexcept { return library().whole; }

unsigned zstd_version() noexcept { return library().whole ? library().version() : 0; }

ZstdDictionary::ZstdDictionary(const std::uint8_t* data, std::size_t size) noexcept
    : ready_(library().whole ? library().create_dictionary(data, size) : nullptr) {}

ZstdDictionary::~ZstdDictionary() {
  if (ready_ != nullptr) library().free_dictionary(ready_);
}

std::size_t zstd_decompress(const ZstdFrames& frames, const ZstdDictionary* dictionary,
                            std::uint8_t* bad) noexcept {
  const Library& zstd = library();
  void* const worker = context();
  std::size_t count = 0;
  for (std::size_t i = 0; i < frames.count; ++i) {
    const auto length = static_cast<std::size_t>(frames.lengths[i]);
    const auto size = static_cast<std::size_t>(frames.out_lengths[i]);
    bool good = length == 0 && size == 0;
    if (!good && worker != nullptr) {
      const std::uint8_t* const from = frames.data + frames.starts[i];
      std::uint8_t* const to = frames.out + frames.out_starts[i];
      // The claim first: it costs nothing, and a frame that says another size is not decoded.
      if (zstd.content_size(from, length) == size) {
        const std::size_t made =
            dictionary == nullptr
                ? zstd.decompress(worker, to, size, from, length)
                : zstd.decompress_with(worker, to, size, from, length, dictionary->ready());
        good = zstd.is_error(made) == 0 && made == size;
      }
    }
    bad[i] = good ? 0 : 1;
    count += good ? 0 : 1;
  }
  return count;
}

}  // namespace forebay
