// The main of a fuzz target where the compiler brings no libFuzzer: fuzz_x [OPTIONS] PATH...
//
// PATHs are files, or folders whose files are taken. Each is run once; then mutations of them are
// run, and what reaches code that nothing reached before is mutated further. The options are those
// of libFuzzer, so that callers need not know which of the two they start:
//   -runs=N            executions beyond the PATHs themselves; 0: the PATHs alone; default 10,000
//   -max_total_time=S  seconds, whichever ends first; 0 (default) is no limit
//   -seed=N            of the mutations, default 1; the same seed and PATHs give the same inputs
//   -max_len=N         bytes of an input at most, default 65,536
//   -timeout=S         seconds that one execution may take, default 25
//   -artifact_prefix=P where the input that failed is written, as P + "crash" or P + "timeout"
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "mutate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using forebay::fuzz::Bytes;

struct Options {
  std::uint64_t runs = 10'000;
  std::uint64_t seconds = 0;
  std::uint64_t seed = 1;
  std::size_t max_len = 1 << 16;
  unsigned timeout = 25;
  std::string prefix;
  std::vector<std::filesystem::path> paths;
};

// What runs now, for the handlers below: they may call nothing that allocates or locks.
const std::uint8_t* running = nullptr;
std::size_t running_size = 0;
std::string crash_path, timeout_path;

void save(const std::string& path) {
  if (running == nullptr) return;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  for (std::size_t done = 0; done < running_size;) {
    const ssize_t wrote = write(file, running + done, running_size - done);
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  close(file);
  const char said[] = "fuzz: the input that failed is in ";
  (void)!write(2, said, sizeof said - 1);
  (void)!write(2, path.c_str(), path.size());
  (void)!write(2, "\n", 1);
}

void died() { save(crash_path); }

void signalled(int number) {
  save(number == SIGALRM ? timeout_path : crash_path);
  _exit(number == SIGALRM ? 70 : 77);
}

// Edges seen since the process began. Compilers call the function below at each basic block; the
// pair of the block and the one before it stands for an edge, as in AFL's description.
constexpr std::size_t EDGES = 1 << 16;
std::uint8_t seen[EDGES];
std::uintptr_t block_before = 0;
std::size_t edges = 0;

}  // namespace

extern "C" void __sanitizer_cov_trace_pc() {
  std::uintptr_t block = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  block ^= block >> 16;
  std::uint8_t& edge = seen[(block ^ block_before) % EDGES];
  block_before = block >> 1;
  edges += edge == 0;
  edge = 1;
}

namespace {

// Runs a copy of exactly this size on the heap, so that AddressSanitizer sees a read beyond it.
// Returns whether new edges were reached.
bool execute(const Bytes& input, unsigned timeout) {
  const std::size_t before = edges;
  block_before = 0;
  const auto copy = std::make_unique<std::uint8_t[]>(input.size());
  std::copy(input.begin(), input.end(), copy.get());
  running = copy.get();
  running_size = input.size();
  alarm(timeout);
  LLVMFuzzerTestOneInput(copy.get(), input.size());
  alarm(0);
  running = nullptr;
  return edges > before;
}

bool parse(int count, char** arguments, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    const std::uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
    if (argument[0] != '-') options.paths.emplace_back(argument);
    else if (name == "-runs") options.runs = number;
    else if (name == "-max_total_time") options.seconds = number;
    else if (name == "-seed") options.seed = number;
    else if (name == "-max_len") options.max_len = static_cast<std::size_t>(number);
    else if (name == "-timeout") options.timeout = static_cast<unsigned>(number);
    else if (name == "-artifact_prefix") options.prefix = value;
    else {
      std::fprintf(stderr, "fuzz: unknown option %s; see the top of tests/fuzz/driver.cpp\n",
                   argument.c_str());
      return false;
    }
  }
  return true;
}

std::vector<Bytes> read_corpus(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::filesystem::path> files;
  for (const auto& path : paths) {
    if (!std::filesystem::is_directory(path)) files.push_back(path);
    else
      for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
        if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> corpus;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "fuzz: cannot read %s\n", file.c_str());
      std::exit(2);
    }
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  if (!parse(count, arguments, options)) return 2;
  crash_path = options.prefix + "crash";
  timeout_path = options.prefix + "timeout";
  for (const int number : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGALRM}) signal(number, signalled);
  // A sanitizer has a handler of SIGSEGV that prints the stack, and calls back.
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(died);
  else signal(SIGSEGV, signalled);

  std::vector<Bytes> corpus = read_corpus(options.paths);
  for (const Bytes& input : corpus) execute(input, options.timeout);
  if (corpus.empty()) corpus.emplace_back();
  const std::size_t given = corpus.size();
  std::printf("fuzz: %zu inputs reach %zu edges\n", given, edges);
  std::fflush(stdout);

  forebay::fuzz::Mutator mutator(options.seed, options.max_len);
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::uint64_t run = 0;
  for (; run < options.runs; ++run) {
    if (options.seconds != 0 && elapsed() >= static_cast<double>(options.seconds)) break;
    Bytes input = mutator.mutate(corpus);
    if (execute(input, options.timeout)) corpus.push_back(std::move(input));
  }
  std::printf("fuzz: %llu executions in %.1f s, %zu inputs more, %zu edges\n",
              static_cast<unsigned long long>(run), elapsed(), corpus.size() - given, edges);
  // LeakSanitizer, where it is linked, looks for leaks after this and gives a status of its own.
  return 0;
}
