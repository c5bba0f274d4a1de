// Loads and stores of tiles and scalars, in global and shared memory and in accumulators.

#include <fmt/format.h>

#include <algorithm>

#include "element_pointers.h"
#include "lowering.h"

namespace pk::codegen {

using ir::Attr;
using ir::Dtype;
using ir::Op;
using ir::Space;

namespace {

/// One access of a lane: `count` neighbouring elements, on a condition or not.
class Access {
 public:
  Access(Lowering& lowering, const Ref& ref)
      : l_(lowering), b_(lowering.b()), dtype_(ref.root->dtype), bytes_(ir::byte_size(dtype_)) {
    remote_ = ref.peer != nullptr;
    space_ = ref.root->space == Space::gmem ? "global" : remote_ ? "shared::cluster" : "shared::cta";
    global_ = ref.root->space == Space::gmem;
  }

  std::vector<llvm::Value*> load(llvm::Value* pointer, int count, llvm::Value* condition) {
    llvm::Value* raw = nullptr;
    const int bytes = count * bytes_;
    if (condition == nullptr && !remote_) {
      raw = b_.CreateAlignedLoad(raw_type(bytes), pointer, llvm::Align(static_cast<unsigned>(bytes)));
    } else {
      raw = guarded_load(pointer, bytes, condition == nullptr ? b_.getTrue() : condition);
    }
    return unpack(raw, count);
  }

  void store(llvm::Value* pointer, llvm::ArrayRef<llvm::Value*> values, llvm::Value* condition) {
    llvm::Value* raw = pack(values);
    const int bytes = static_cast<int>(values.size()) * bytes_;
    if (condition == nullptr && !remote_) {
      b_.CreateAlignedStore(raw, pointer, llvm::Align(static_cast<unsigned>(bytes)));
    } else {
      guarded_store(pointer, raw, bytes, condition == nullptr ? b_.getTrue() : condition);
    }
  }

 private:
  /// Up to 32 bits an integer, then words.
  llvm::Type* raw_type(int bytes) {
    if (bytes <= 4) return b_.getIntNTy(static_cast<unsigned>(bytes) * 8);
    return llvm::FixedVectorType::get(b_.getInt32Ty(), static_cast<unsigned>(bytes) / 4);
  }
  llvm::Type* element_type() { return dtype_ == Dtype::boolean ? b_.getInt8Ty() : l_.llvm_type(dtype_); }

  std::vector<llvm::Value*> unpack(llvm::Value* raw, int count) {
    std::vector<llvm::Value*> values;
    if (count == 1) return {l_.from_memory(b_.CreateBitCast(raw, element_type()), dtype_)};
    llvm::Value* vector =
        b_.CreateBitCast(raw, llvm::FixedVectorType::get(element_type(), static_cast<unsigned>(count)));
    for (int i = 0; i < count; ++i)
      values.push_back(l_.from_memory(b_.CreateExtractElement(vector, static_cast<std::uint64_t>(i)), dtype_));
    return values;
  }
  llvm::Value* pack(llvm::ArrayRef<llvm::Value*> values) {
    llvm::Type* raw = raw_type(static_cast<int>(values.size()) * bytes_);
    if (values.size() == 1) return b_.CreateBitCast(l_.to_memory(values[0], dtype_), raw);
    llvm::Value* vector =
        llvm::PoisonValue::get(llvm::FixedVectorType::get(element_type(), static_cast<unsigned>(values.size())));
    for (std::size_t i = 0; i < values.size(); ++i)
      vector = b_.CreateInsertElement(vector, l_.to_memory(values[i], dtype_), i);
    return b_.CreateBitCast(vector, raw);
  }

  llvm::Value* address(llvm::Value* pointer) {
    if (global_ || remote_) return pointer;
    return b_.CreatePtrToInt(pointer, b_.getInt32Ty());
  }
  /// "b8", "b16", "b32", "v2.b32", …
  static std::string width(int bytes) {
    return bytes <= 4 ? fmt::format("b{}", bytes * 8) : fmt::format("v{}.b32", bytes / 4);
  }
  /// "$0", or "{$0, $1, …}" from operand `first`.
  static std::string operands(int first, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("{}${}", i == 0 ? "" : ", ", first + i);
    return count == 1 ? text : "{" + text + "}";
  }

  llvm::Value* guarded_load(llvm::Value* pointer, int bytes, llvm::Value* condition) {
    const int words = bytes <= 4 ? 1 : bytes / 4;
    llvm::Type* word = bytes <= 2 ? b_.getInt16Ty() : b_.getInt32Ty();
    std::string text, constraints;
    for (int i = 0; i < words; ++i) {
      text += fmt::format("mov.b{} ${}, 0; ", bytes <= 2 ? 16 : 32, i);
      constraints += bytes <= 2 ? "=&h," : "=&r,";
    }
    text += fmt::format("@${} ld.{}.{} {}, [${}];", words + 1, space_, width(bytes), operands(0, words), words);
    constraints += global_ ? "l,b" : "r,b";
    llvm::Type* result =
        words == 1
            ? word
            : llvm::StructType::get(b_.getContext(), std::vector<llvm::Type*>(static_cast<std::size_t>(words), word));
    llvm::Value* loaded = l_.assembly(text, constraints, {address(pointer), condition}, result);
    if (words == 1) return b_.CreateTrunc(loaded, raw_type(bytes));
    llvm::Value* vector = llvm::PoisonValue::get(raw_type(bytes));
    for (int i = 0; i < words; ++i)
      vector = b_.CreateInsertElement(vector, b_.CreateExtractValue(loaded, static_cast<unsigned>(i)),
                                      static_cast<std::uint64_t>(i));
    return vector;
  }

  void guarded_store(llvm::Value* pointer, llvm::Value* raw, int bytes, llvm::Value* condition) {
    const int words = bytes <= 4 ? 1 : bytes / 4;
    std::vector<llvm::Value*> args{address(pointer), condition};
    std::string constraints = global_ ? "l,b" : "r,b";
    for (int i = 0; i < words; ++i) {
      llvm::Value* word = words == 1 ? raw : b_.CreateExtractElement(raw, static_cast<std::uint64_t>(i));
      args.push_back(bytes <= 2 ? b_.CreateZExt(word, b_.getInt16Ty()) : word);
      constraints += bytes <= 2 ? ",h" : ",r";
    }
    l_.assembly(fmt::format("@$1 st.{}.{} [$0], {};", space_, width(bytes), operands(2, words)), constraints, args);
  }

  Lowering& l_;
  Builder& b_;
  Dtype dtype_;
  int bytes_;
  std::string space_;
  bool remote_, global_;
};

llvm::Value* both(Builder& b, llvm::Value* x, llvm::Value* y) {
  if (x == nullptr) return y;
  return y == nullptr ? x : b.CreateAnd(x, y);
}

}  // namespace

Tile Lowering::load_tile(const Ref& ref, const Layout& layout, const Tile* mask, bool clipped) {
  ElementPointers pointers(*this, ref, layout);
  Access access(*this, ref);
  Tile result{ref.root->dtype, layout,
              std::vector<llvm::Value*>(static_cast<std::size_t>(layout.register_count()), nullptr)};
  const int step = mask == nullptr && !clipped ? pointers.vector() : 1;
  for (int reg = 0; reg < layout.register_count(); reg += step) {
    if (!layout.exists(reg)) continue;
    llvm::Value* condition = inside(layout, reg);
    if (mask != nullptr) condition = both(b(), condition, mask->registers[static_cast<std::size_t>(reg)]);
    if (clipped) condition = both(b(), condition, pointers.in_bounds(reg));
    const std::vector<llvm::Value*> values = access.load(pointers(reg), step, condition);
    std::copy(values.begin(), values.end(), result.registers.begin() + reg);
  }
  return result;
}

void Lowering::store_tile(const Ref& ref, const Tile& tile, const Tile* mask, bool clipped) {
  const Layout& layout = tile.layout;
  ElementPointers pointers(*this, ref, layout);
  Access access(*this, ref);
  llvm::Value* first = first_holder(layout);
  const int step = mask == nullptr && !clipped ? pointers.vector() : 1;
  for (int reg = 0; reg < layout.register_count(); reg += step) {
    if (!layout.exists(reg)) continue;
    llvm::Value* condition = both(b(), first, inside(layout, reg));
    if (mask != nullptr) condition = both(b(), condition, mask->registers[static_cast<std::size_t>(reg)]);
    if (clipped) condition = both(b(), condition, pointers.in_bounds(reg));
    access.store(pointers(reg),
                 llvm::ArrayRef(tile.registers).slice(static_cast<std::size_t>(reg), static_cast<std::size_t>(step)),
                 condition);
  }
}

/// The lanes' parts in stmatrix.x4: lane l gives the address of row l % 16 of one half of 16 columns.
static Layout matrix_rows(const Layout& fragment) {
  Layout rows{fragment.shape, {}, {}};
  for (const std::int64_t row : {1, 2, 4, 8}) rows.lanes.push_back({row, 0});
  rows.lanes.push_back({0, 8});
  for (const std::int64_t row : {16, 32}) rows.lanes.push_back({row, 0});
  // Columns 1 and 8 and row 8 are the fragment's own; what else its registers hold is another matrix.
  for (const Coords& basis : fragment.registers) {
    if (basis[0] != 8 && basis[1] != 1 && basis[1] != 8) rows.registers.push_back(basis);
  }
  return rows;
}

bool Lowering::store_matrices(const Ref& ref, const Tile& tile) {
  constexpr int registers_of_matrices = 8;  // of four 8x8 matrices of 16-bit elements
  const ir::Shape& shape = tile.layout.shape;
  if (ref.root->space != Space::smem || ref.peer != nullptr || ir::byte_size(tile.dtype) != 2 ||
      options_.target.sm < 90)
    return false;
  if (shape.size() != 2 || shape[0] % 64 != 0 || shape[1] % 16 != 0 || tile.layout != accumulator(shape)) return false;
  // The address of eight elements that lie side by side, as a check of what stmatrix needs.
  Layout eight = strided(shape, 8);
  ElementPointers check(*this, ref, eight);
  if (check.vector() < 8) return false;
  const Layout rows = matrix_rows(tile.layout);
  ElementPointers pointers(*this, ref, rows);
  for (int matrix = 0; matrix < rows.register_count(); ++matrix) {
    if (!rows.exists(matrix)) continue;
    std::vector<llvm::Value*> args{b().CreatePtrToInt(pointers(matrix), b().getInt32Ty())};
    for (int reg = 0; reg < registers_of_matrices; reg += 2) {
      const auto at = static_cast<std::size_t>(matrix * registers_of_matrices + reg);
      llvm::Value* pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(llvm_type(tile.dtype), 2));
      pair = b().CreateInsertElement(pair, tile.registers[at], std::uint64_t{0});
      pair = b().CreateInsertElement(pair, tile.registers[at + 1], std::uint64_t{1});
      args.push_back(b().CreateBitCast(pair, b().getInt32Ty()));
    }
    assembly("stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r", args);
  }
  return true;
}

/// A good layout for moving a tile of this shape to or from memory.
Layout Lowering::memory_layout(const ir::Shape& shape, Dtype dtype) {
  std::int64_t vector = 16 / ir::byte_size(dtype);
  while (vector > 1 && vector * lane_count > ir::element_count(shape)) vector /= 2;
  return strided(shape, static_cast<int>(vector));
}

void Lowering::lower_load(const ir::Inst& inst) {
  const ir::Value result = inst.results[0];
  const Ref& from = ref(inst.operands[0]);
  const bool is_tile = type(result).is_tile();
  const Layout layout = is_tile ? planned(result) : replicated({});
  if (from.root->space == Space::acc) {
    if (!is_tile) unsupported(inst, "reading a single element of an accumulator");
    return set(result, read_accumulator(from, type(result).dtype, layout));
  }
  before_read(from.root->id);
  Tile loaded = load_tile(from, layout, nullptr, false);
  if (is_tile) return set(result, std::move(loaded));
  set(result, loaded.registers[0]);
}

void Lowering::lower_store(const ir::Inst& inst) {
  const Ref to = ref(inst.operands[0]);
  const ir::Value value = inst.operands[1];
  const Layout layout = type(value).is_tile() ? tile(value).layout
                        : to.axes.empty()     ? replicated({})
                                              : memory_layout(to.shape(), to.root->dtype);
  if (to.root->space == Space::acc) return write_accumulator(to, tile_in(value, accumulator(to.shape())));
  const Tile elements = tile_in(value, layout);
  before_write(to.root->id);
  if (!store_matrices(to, elements)) store_tile(to, elements, nullptr, false);
}

void Lowering::lower_load_masked(const ir::Inst& inst) {
  const ir::Value result = inst.results[0];
  const Ref& from = ref(inst.operands[0]);
  const Layout layout = type(result).is_tile() ? planned(result) : replicated({});
  const Tile mask = tile_in(inst.operands[1], layout);
  const Tile other = tile_in(inst.operands[2], layout);
  before_read(from.root->id);
  Tile loaded = load_tile(from, layout, &mask, false);
  for (std::size_t reg = 0; reg < loaded.registers.size(); ++reg) {
    if (loaded.registers[reg] != nullptr)
      loaded.registers[reg] = b().CreateSelect(mask.registers[reg], loaded.registers[reg], other.registers[reg]);
  }
  if (type(result).is_tile()) return set(result, std::move(loaded));
  set(result, loaded.registers[0]);
}

void Lowering::lower_store_masked(const ir::Inst& inst) {
  const Ref& to = ref(inst.operands[0]);
  const ir::Value value = inst.operands[1], mask_value = inst.operands[2];
  const Layout layout = type(value).is_tile()        ? tile(value).layout
                        : type(mask_value).is_tile() ? tile(mask_value).layout
                        : to.axes.empty()            ? replicated({})
                                                     : memory_layout(to.shape(), to.root->dtype);
  const Tile mask = tile_in(mask_value, layout);
  before_write(to.root->id);
  store_tile(to, tile_in(value, layout), &mask, false);
}

void Lowering::lower_var(const ir::Inst& inst) {
  if (inst.op == Op::var) {
    const ir::Value result = inst.results[0];
    Cell made{type(inst.operands[0]), {}, {}};
    if (made.held.is_tile()) made.layout = planned(result);
    const int count = made.held.is_tile() ? made.layout.register_count() : 1;
    for (int reg = 0; reg < count; ++reg) made.slots.push_back(slot(llvm_type(made.held.dtype), "var"));
    set(result, std::move(made));
  }
  const ir::Value where = inst.op == Op::var ? inst.results[0] : inst.operands[0];
  const Cell& variable = cell(where);
  const bool is_tile = variable.held.is_tile();
  if (inst.op == Op::var_get) {
    llvm::Type* element = llvm_type(variable.held.dtype);
    if (!is_tile) return set(inst.results[0], b().CreateLoad(element, variable.slots[0]));
    Tile out{variable.held.dtype, variable.layout, {}};
    for (std::size_t reg = 0; reg < variable.slots.size(); ++reg)
      out.registers.push_back(
          variable.layout.exists(static_cast<int>(reg)) ? b().CreateLoad(element, variable.slots[reg]) : nullptr);
    return set(inst.results[0], convert_layout(out, planned(inst.results[0])));
  }
  const ir::Value value = inst.op == Op::var ? inst.operands[0] : inst.operands[1];
  if (!is_tile) {
    b().CreateStore(scalar(value), variable.slots[0]);
    return;
  }
  const Tile in = tile_in(value, variable.layout);
  for (std::size_t reg = 0; reg < variable.slots.size(); ++reg) {
    if (in.registers[reg] != nullptr) b().CreateStore(in.registers[reg], variable.slots[reg]);
  }
}

}  // namespace pk::codegen
