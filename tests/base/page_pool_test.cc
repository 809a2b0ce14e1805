#include "engine/base/page_pool.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace pleat {
namespace {

constexpr size_t kExtent = 2 << 20;

TEST(PagePool, HandsOutPagesThatDoNotOverlap) {
  PagePool pool;
  std::set<std::byte*> pages;
  for (int i = 0; i < 100; ++i) {
    std::byte* page = pool.Take();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(page) % PagePool::kPageBytes, 0u);
    std::memset(page, i, PagePool::kPageBytes);
    EXPECT_TRUE(pages.insert(page).second);
  }
  EXPECT_EQ(pool.held_bytes(), 4 * kExtent);  // 32 pages each
  for (std::byte* page : pages) pool.Return(page);
}

TEST(PagePool, GivesBackAllButOneEmptyExtent) {
  PagePool pool;
  std::vector<std::byte*> pages;
  for (int i = 0; i < 320; ++i) pages.push_back(pool.Take());
  EXPECT_EQ(pool.held_bytes(), 10 * kExtent);
  for (std::byte* page : pages) pool.Return(page);
  EXPECT_EQ(pool.held_bytes(), kExtent);
}

TEST(PagePool, KeepsEmptyExtentsUntilADeferralGivesThemBack) {
  PagePool pool;
  std::vector<std::byte*> pages;
  const auto take = [&](int n) {
    for (int i = 0; i < n; ++i) pages.push_back(pool.Take());
  };
  const auto return_all = [&] {
    for (std::byte* page : pages) pool.Return(page);
    pages.clear();
  };
  take(320);
  {
    PagePool::Deferral deferral(pool);
    return_all();
    EXPECT_EQ(pool.held_bytes(), 10 * kExtent);
    take(64);  // out of those that are kept
    EXPECT_EQ(pool.held_bytes(), 10 * kExtent);
    deferral.GiveBack();
    EXPECT_EQ(pool.held_bytes(), 3 * kExtent);
    return_all();
    EXPECT_EQ(pool.held_bytes(), 3 * kExtent);
  }
  EXPECT_EQ(pool.held_bytes(), kExtent);
}

TEST(PagePool, FillsGapsBeforeItGrows) {
  PagePool pool;
  std::vector<std::byte*> pages;
  for (int i = 0; i < 96; ++i) pages.push_back(pool.Take());
  pool.Return(pages[40]);
  EXPECT_EQ(pool.Take(), pages[40]);
  EXPECT_EQ(pool.held_bytes(), 3 * kExtent);
  for (std::byte* page : pages) pool.Return(page);
}

TEST(PagePool, CutsBlocksThatDoNotOverlap) {
  PagePool pool;
  struct Block {
    std::byte* begin;
    size_t bytes;
  };
  std::vector<Block> blocks;
  for (int round = 0; round < 100; ++round) {
    for (const size_t bytes : {1, 256, 257, 1024, 4000, 16'384, 16'385, 65'536}) {
      blocks.push_back({pool.TakeBlock(bytes), bytes});
      EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back().begin) % 64, 0u);
      std::memset(blocks.back().begin, static_cast<int>(blocks.size()), bytes);
    }
  }
  std::map<std::byte*, size_t> in_order;
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i].begin[blocks[i].bytes - 1], static_cast<std::byte>(i + 1));
    in_order[blocks[i].begin] = blocks[i].bytes;
  }
  EXPECT_EQ(in_order.size(), blocks.size());
  const std::byte* end = nullptr;
  for (const auto& [begin, bytes] : in_order) {
    EXPECT_TRUE(end == nullptr || begin >= end);
    end = begin + bytes;
  }
  for (const Block& block : blocks) pool.ReturnBlock(block.begin, block.bytes);
}

TEST(PagePool, AThousandSmallBlocksTakeAFewPages) {
  PagePool pool;
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(pool.TakeBlock(200));
  EXPECT_EQ(pool.taken_bytes(), 4 * PagePool::kPageBytes);  // 256 in each
  pool.ReturnBlock(blocks[3], 200);
  EXPECT_EQ(pool.TakeBlock(200), blocks[3]);
  for (std::byte* block : blocks) pool.ReturnBlock(block, 200);
  EXPECT_EQ(pool.taken_bytes(), 0u);
  EXPECT_EQ(pool.held_bytes(), kExtent) << "one page stays for the next block";
}

TEST(PageAccount, CountsWhatItsOwnerHas) {
  PagePool pool;
  PageAccount one(pool);
  PageAccount other(pool);
  std::byte* const page = one.Take();
  std::byte* const small = one.TakeBlock(300);
  std::byte* const large = other.TakeBlock(20'000);
  EXPECT_EQ(one.bytes(), PagePool::kPageBytes + 1024);
  EXPECT_EQ(other.bytes(), PagePool::kPageBytes);
  one.Return(page);
  EXPECT_EQ(one.bytes(), 1024u);
  one.ReturnBlock(small, 300);
  other.ReturnBlock(large, 20'000);
  EXPECT_EQ(one.bytes() + other.bytes(), 0u);
}

std::vector<std::byte*> TakePages(PagePool& pool, int count) {
  std::vector<std::byte*> pages;
  for (int i = 0; i < count; ++i) pages.push_back(pool.Take());
  return pages;
}

TEST(PagePool, HandsOutItsStockFirstAndKeepsIt) {
  PagePool pool;
  std::vector<std::byte*> before = TakePages(pool, 1);
  PagePool::Stock stock(pool);
  ASSERT_TRUE(stock.Fill(3 * kExtent - 1));
  EXPECT_EQ(pool.held_bytes(), 4 * kExtent);
  const std::vector<std::byte*> stocked = TakePages(pool, 96);
  EXPECT_EQ(pool.held_bytes(), 4 * kExtent);
  const std::set<std::byte*> in_stock(stocked.begin(), stocked.end());
  const std::vector<std::byte*> more = TakePages(pool, 63);
  EXPECT_EQ(pool.held_bytes(), 5 * kExtent);
  EXPECT_EQ(pool.taken_bytes(), 160 * PagePool::kPageBytes);
  for (std::byte* page : more) pool.Return(page);
  for (std::byte* page : before) pool.Return(page);
  for (std::byte* page : stocked) pool.Return(page);
  EXPECT_EQ(pool.held_bytes(), 4 * kExtent) << "one empty extent beside the stock";
  for (std::byte* page : TakePages(pool, 96)) {
    EXPECT_TRUE(in_stock.contains(page));
    pool.Return(page);
  }
}

TEST(PagePool, GivesBackAStockThatEnds) {
  PagePool pool;
  std::vector<std::byte*> pages;
  {
    PagePool::Stock stock(pool);
    ASSERT_TRUE(stock.Fill(5 * kExtent));
    pages = TakePages(pool, 33);
  }
  EXPECT_EQ(pool.held_bytes(), 3 * kExtent) << "two in use, and one empty";
  for (std::byte* page : pages) pool.Return(page);
  EXPECT_EQ(pool.held_bytes(), kExtent);
}

TEST(PagePool, FillsAStockOnlyWithWhatIsMissing) {
  PagePool pool;
  PagePool::Stock lasting(pool);
  ASSERT_TRUE(lasting.Fill(4 * kExtent));
  const std::vector<std::byte*> pages = TakePages(pool, 32);
  {
    PagePool::Stock more(pool);
    ASSERT_TRUE(more.Fill(3 * kExtent));
    EXPECT_EQ(pool.held_bytes(), 4 * kExtent);
    ASSERT_TRUE(more.Fill(3 * kExtent + 1));
    EXPECT_EQ(pool.held_bytes(), 5 * kExtent);
  }
  for (std::byte* page : pages) pool.Return(page);
}

TEST(PagePool, SaysThatTheSystemRefusesAndStaysAsItIs) {
  PagePool pool;
  PagePool::Stock stock(pool);
  EXPECT_FALSE(stock.Fill(SIZE_MAX));
  EXPECT_FALSE(stock.Fill(SIZE_MAX / 2));
  EXPECT_EQ(pool.held_bytes(), 0u);
  ASSERT_TRUE(stock.Fill(1));
  EXPECT_EQ(pool.held_bytes(), kExtent);
}

}  // namespace
}  // namespace pleat
