// Tests of the core alone, without Python: exits 0, or prints each failure and exits 1.
#include "../core/columns.hpp"

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
}

// Value `row` of column `column` of block `block`.
std::uint32_t value(std::size_t block, std::size_t row, std::size_t column) {
  return static_cast<std::uint32_t>(1000000 * block + 1000 * row + column);
}

// Exactly as large as they must be, so that sanitizers see a step aside.
void test_there_and_back(std::size_t columns, std::size_t rows, std::int64_t room) {
  constexpr std::size_t kBlocks = 3;
  std::vector<std::vector<std::uint32_t>> blocks;
  std::vector<forebay::FixedBlock> table;
  for (std::size_t b = 0; b < kBlocks; ++b) {
    std::vector<std::vector<std::uint32_t>> apart(columns, std::vector<std::uint32_t>(rows));
    std::vector<const std::uint8_t*> places;
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t r = 0; r < rows; ++r) apart[c][r] = value(b, r, c);
      places.push_back(reinterpret_cast<const std::uint8_t*>(apart[c].data()));
    }
    blocks.emplace_back(rows * columns);
    forebay::interleave(places.data(), columns, rows, 4,
                        reinterpret_cast<std::uint8_t*>(blocks[b].data()));
    for (std::size_t c = 0; c < columns; ++c)
      table.push_back({reinterpret_cast<std::uintptr_t>(blocks[b].data() + c), rows, 4 * columns});
  }
  std::vector<std::int64_t> which, row, place;
  for (std::int64_t i = 0; i < room; ++i) {
    if (i % 11 == 5) continue;  // a place that gets nothing
    which.push_back(i % static_cast<std::int64_t>(kBlocks));
    row.push_back(i * 7 % static_cast<std::int64_t>(rows));
    place.push_back(room - 1 - i);
  }
  std::vector<std::vector<std::uint32_t>> outs(columns,
                                               std::vector<std::uint32_t>(std::size_t(room), 7));
  std::vector<std::uint8_t*> to;
  for (auto& out : outs) to.push_back(reinterpret_cast<std::uint8_t*>(out.data()));
  const forebay::ColumnTable from{table.data(), kBlocks, static_cast<std::int64_t>(columns), 4};
  const forebay::Named named{which.data(), row.data(), place.data(),
                             static_cast<std::int64_t>(row.size())};
  expect(forebay::gather_columns(from, named, room, to.data()) == -1, "all rows are there");
  for (std::size_t c = 0; c < columns; ++c) {
    std::vector<std::uint32_t> expected(static_cast<std::size_t>(room), 7);
    for (std::size_t i = 0; i < row.size(); ++i)
      expected[static_cast<std::size_t>(place[i])] =
          value(static_cast<std::size_t>(which[i]), static_cast<std::size_t>(row[i]), c);
    expect(outs[c] == expected, "column " + std::to_string(c) + " of " + std::to_string(columns));
  }
  if (row.empty()) return;
  row.back() = static_cast<std::int64_t>(rows);
  expect(forebay::gather_columns(from, named, room, to.data()) >= 0, "a row that is not there");
}

}  // namespace

int main() {
  for (const std::size_t columns : {1, 2, 5, 31, 32, 33, 70})
    for (const std::int64_t room : {0, 1, 15, 16, 17, 200}) test_there_and_back(columns, 40, room);
  return failures == 0 ? 0 : 1;
}
