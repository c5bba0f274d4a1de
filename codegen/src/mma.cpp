// Matrix products: wgmma on accumulators in registers, operands in shared memory by descriptors, or A in registers.
//
// An accumulator is in flight from its wgmma to the wait that retires it. In between LLVM must neither read, copy nor
// move its registers: every asm that touches it takes the registers in and gives them back ("tied"), and the wait that
// retires it does so too, since LLVM would otherwise move arithmetic above the wait.

#include <fmt/format.h>

#include <algorithm>

#include "lowering.h"
#include "shared_offsets.h"

namespace pk::codegen {

using ir::Attr;
using ir::Dtype;
using ir::Op;
using ir::Space;

namespace {

constexpr std::int64_t rows_per_mma = 64, most_columns = 256;

/// The name of an element type in wgmma.
std::string mma_type(Dtype t) {
  switch (t) {
    case Dtype::f8e4m3:
      return "e4m3";
    case Dtype::f8e5m2:
      return "e5m2";
    case Dtype::i8:
      return "s8";
    case Dtype::u8:
      return "u8";
    case Dtype::f32:
      return "tf32";
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::boolean:
    case Dtype::i16:
    case Dtype::i32:
    case Dtype::i64:
    case Dtype::u16:
    case Dtype::u32:
    case Dtype::u64:
    case Dtype::f64:
    case Dtype::index:
      break;
  }
  return std::string(ir::spelling(t));
}

std::string accumulator_type(Dtype t) { return t == Dtype::i32 ? "s32" : std::string(ir::spelling(t)); }

/// Widths that the machine has: multiples of 8, for integers from 32 on of 16.
std::int64_t columns_of_next(std::int64_t left, bool integers) {
  std::int64_t n = std::min(left, most_columns);
  if (integers && n > 24) n = n / 16 * 16;
  return n;
}

/// The address of a shared operand and the strides of its descriptor (PTX ISA, "Matrix descriptor").
class Operand {
 public:
  /// `along` and `k` are the view's axes of rows or columns and of the sum.
  Operand(Lowering& l, const ir::Inst& inst, const Ref& ref, std::size_t along, std::size_t k)
      : l_(l), ref_(ref), offsets_(*ref.root), along_(ref.axes[along].root_axis), k_(ref.axes[k].root_axis) {
    const Root& root = *ref.root;
    const std::size_t last = root.static_extents.size() - 1;
    element_bytes_ = ir::byte_size(root.dtype);
    panel_ = root.layout.panel_bytes;
    if (panel_ == 0 || last == 0)
      l.unsupported(inst, "an operand whose rows in shared memory are no multiple of 16 bytes, or that is reshaped");
    if (ref.peer != nullptr) l.unsupported(inst, "an operand in another block's memory");
    k_major_ = k_ == last;
    if ((!k_major_ && along_ != last) || std::min(along_, k_) != last - 1)
      l.unsupported(inst, "an operand that does not consist of neighbouring rows");
    rows_ = root.static_extents[last - 1];
    const std::int64_t row_start = ref.start_divisors[last - 1];
    if (row_start % 8 != 0) l.unsupported(inst, "an operand that does not start at a multiple of 8 rows");
    const std::int64_t column_bytes = ref.start_divisors[last] * element_bytes_;
    if (column_bytes % (k_major_ ? 32 : panel_) != 0 && (panel_ != 16 || column_bytes % 16 != 0))
      l.unsupported(inst, "an operand that starts within a swizzled row");
    whole_panels_ = offsets_.starts_panel(ref);
    if (whole_panels_) base_ = at(l.b().CreateAdd(root.offset, offsets_.start(l, ref)));
  }
  [[nodiscard]] bool k_major() const { return k_major_; }

  /// Of the part that begins at the given row (column) and element of the sum.
  llvm::Value* descriptor(std::int64_t along, std::int64_t k) {
    Builder& b = l_.b();
    Coords more(ref_.root->static_extents.size(), 0);
    more[along_] = along;
    more[k_] = k;
    // Offsets count in 16 bytes and stay within the field, so they can be added to a descriptor made once.
    if (whole_panels_) return b.CreateAdd(base_, l_.i64(offsets_.of(more) >> 4));
    std::vector<llvm::Value*> coords;
    for (std::size_t i = 0; i < more.size(); ++i)
      coords.push_back(b.CreateAdd(l_.narrow(ref_.starts[i]), l_.i32(more[i])));
    return at(b.CreateAdd(ref_.root->offset, offsets_.of(l_, coords)));
  }

 private:
  llvm::Value* at(llvm::Value* offset) {
    Builder& b = l_.b();
    llvm::Value* address = b.CreateAnd(b.CreateLShr(l_.shared_address(offset), 4), 0x3fff);
    return b.CreateOr(b.CreateZExt(address, b.getInt64Ty()), l_.i64(strides()));
  }
  [[nodiscard]] std::int64_t strides() const {
    std::int64_t leading = 16, stride = std::int64_t{8} * panel_, kind = 0;
    if (panel_ == 128) kind = 1;
    if (panel_ == 64) kind = 2;
    if (panel_ == 32) kind = 3;
    if (panel_ == 16) {
      leading = k_major_ ? 16 * rows_ : 128;
      stride = k_major_ ? 128 : 16 * rows_;
    } else if (!k_major_) {
      leading = panel_ * rows_;
    }
    return (leading >> 4 & 0x3fff) << 16 | (stride >> 4 & 0x3fff) << 32 | kind << 62;
  }

  Lowering& l_;
  const Ref& ref_;
  SharedOffsets offsets_;
  std::size_t along_, k_;
  std::int64_t element_bytes_ = 0, rows_ = 0;
  int panel_ = 0;
  bool k_major_ = false, whole_panels_ = false;
  llvm::Value* base_ = nullptr;  ///< descriptor of the view's start
};

std::string register_list(std::size_t first, std::size_t count) {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{}${}", i == 0 ? "" : ", ", first + i);
  return text + "}";
}

}  // namespace

/// Runs an asm that takes the slots' values in its first operands and gives them back.
void Lowering::tied(const std::string& text, llvm::ArrayRef<llvm::AllocaInst*> slots, const std::string& constraints,
                    llvm::ArrayRef<llvm::Value*> more) {
  if (slots.empty()) {
    assembly(text, constraints, more);
    return;
  }
  std::vector<llvm::Value*> args;
  std::vector<llvm::Type*> types;
  std::string all;
  for (llvm::AllocaInst* s : slots) {
    types.push_back(s->getAllocatedType());
    args.push_back(b().CreateLoad(types.back(), s));
    all += fmt::format("{}={}", all.empty() ? "" : ",", types.back()->isFloatTy() ? "f" : "r");
  }
  for (std::size_t i = 0; i < slots.size(); ++i) all += fmt::format(",{}", i);
  if (!constraints.empty()) all += "," + constraints;
  args.insert(args.end(), more.begin(), more.end());
  llvm::Type* result = slots.size() == 1 ? types[0] : llvm::StructType::get(module_.getContext(), types);
  llvm::Value* out = assembly(text, all, args, result);
  for (std::size_t i = 0; i < slots.size(); ++i)
    b().CreateStore(slots.size() == 1 ? out : b().CreateExtractValue(out, static_cast<unsigned>(i)), slots[i]);
}

std::vector<llvm::AllocaInst*> Lowering::live_accumulator_slots() const {
  std::vector<llvm::AllocaInst*> slots;
  for (const Accumulator* a : live_) {
    const std::vector<llvm::AllocaInst*> used = existing_slots(*a);
    slots.insert(slots.end(), used.begin(), used.end());
  }
  return slots;
}

/// Without those of registers that hold no element.
std::vector<llvm::AllocaInst*> Lowering::existing_slots(const Accumulator& a) {
  const int elements = a.type.dtype == Dtype::f16 ? 2 : 1;
  std::vector<llvm::AllocaInst*> slots;
  for (std::size_t i = 0; i < a.slots.size(); ++i) {
    if (a.layout.exists(static_cast<int>(i) * elements)) slots.push_back(a.slots[i]);
  }
  return slots;
}

void Lowering::zero(Accumulator& accumulator) {
  for (llvm::AllocaInst* s : existing_slots(accumulator))
    b().CreateStore(llvm::Constant::getNullValue(s->getAllocatedType()), s);
}

void Lowering::await_mma(int left) {
  if (!uses_mma_) return;
  const std::string text = fmt::format("wgmma.wait_group.sync.aligned {};", left);
  if (left > 0) {
    assembly(text, "", {});
  } else {
    tied(text, live_accumulator_slots(), "", {});
  }
}

static std::pair<std::int64_t, std::int64_t> static_starts(Lowering& l, const ir::Inst* inst, const Ref& ref) {
  std::int64_t at[2] = {0, 0};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto* known = llvm::dyn_cast<llvm::ConstantInt>(ref.starts[i]);
    if (known == nullptr && inst != nullptr)
      l.unsupported(*inst, "a part of an accumulator that is chosen at run time");
    at[i] = known == nullptr ? -1 : known->getSExtValue();
  }
  return {at[0], at[1]};
}

void Lowering::lower_wgmma(const ir::Inst& inst) {
  const Ref& to = ref(inst.operands[0]);
  const Accumulator& accumulator = *to.root->accumulator;
  const ir::Type& a_type = type(inst.operands[1]);
  const ir::Type& b_type = type(inst.operands[2]);
  const auto [row_start, column_start] = static_starts(*this, &inst, to);
  const std::int64_t m = to.axes[0].extent, n = to.axes[1].extent, k = a_type.shape[1];
  const bool a_in_registers = a_type.is_tile();
  const bool integers = accumulator.type.dtype == Dtype::i32;
  const std::int64_t k_step = 32 / ir::byte_size(a_type.dtype);
  if (m % rows_per_mma != 0 || n % 8 != 0 || row_start % rows_per_mma != 0 || column_start % 8 != 0 || k % k_step != 0)
    unsupported(inst,
                fmt::format("a product of {}x{}x{}: rows come in 64, columns in 8, the sum in {}", m, n, k, k_step));
  for (const std::size_t i : {1, 2}) {
    if (type(inst.operands[i]).is_ref()) {
      before_async(ref(inst.operands[i]).root->id, false);
      pending_.by_mma.insert(ref(inst.operands[i]).root->id);
    }
  }
  if (pending_.fence) meet_lanes();
  std::optional<Operand> a;
  if (!a_in_registers) a.emplace(*this, inst, ref(inst.operands[1]), 0, 1);
  Operand b_operand(*this, inst, ref(inst.operands[2]), 1, 0);
  const bool has_transposes = a_type.dtype == Dtype::f16 || a_type.dtype == Dtype::bf16;
  if (!has_transposes && ((a && !a->k_major()) || !b_operand.k_major()))
    unsupported(inst, "an operand of this type whose rows do not run along the sum");

  const std::vector<llvm::AllocaInst*> slots = existing_slots(accumulator);
  std::vector<llvm::Value*> a_registers;
  if (a_in_registers)
    a_registers = pack_operand(tile_in(inst.operands[1], operand_a(a_type.shape, ir::byte_size(a_type.dtype))));
  fence_mma(slots, a_registers);
  const std::string kind = accumulator.type.dtype == Dtype::f32 ? "f" : "r";
  for (std::int64_t row = 0; row < m; row += rows_per_mma) {
    for (std::int64_t column = 0; column < n;) {
      const std::int64_t columns = columns_of_next(n - column, integers);
      std::vector<llvm::AllocaInst*> part;
      for (std::int64_t j = 0; j < columns; j += 8) {
        for (int i = 0; i < 4; ++i) {
          if (accumulator.type.dtype == Dtype::f16 && i % 2 != 0) continue;
          part.push_back(accumulator.slot_at(row_start + row + 8 * (i / 2), column_start + column + j + i % 2));
        }
      }
      for (std::int64_t at = 0; at < k; at += k_step) {
        const std::string name =
            fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{}", columns, k_step,
                        accumulator_type(accumulator.type.dtype), mma_type(a_type.dtype), mma_type(b_type.dtype));
        const std::size_t first = 2 * part.size();
        std::vector<llvm::Value*> more;
        std::string operand, constraints;
        if (a) {
          more.push_back(a->descriptor(row, at));
          operand = fmt::format("${}", first);
          constraints = "l";
        } else {
          const std::size_t per_step = 4, steps = static_cast<std::size_t>(k / k_step);
          const std::size_t from =
              (static_cast<std::size_t>(row / rows_per_mma) * steps + static_cast<std::size_t>(at / k_step)) * per_step;
          for (std::size_t i = 0; i < per_step; ++i) more.push_back(a_registers[from + i]);
          operand = register_list(first, per_step);
          constraints = "r,r,r,r";
        }
        const std::size_t next = first + more.size();
        more.push_back(b_operand.descriptor(column, at));
        more.push_back(b().getTrue());
        std::string tail = fmt::format(", ${}", next + 1);
        if (!integers) tail += ", 1, 1";
        if (has_transposes && a) tail += fmt::format(", {}", a->k_major() ? 0 : 1);
        if (has_transposes) tail += fmt::format(", {}", b_operand.k_major() ? 0 : 1);
        tied(fmt::format("{} {}, {}, ${}{};", name, register_list(0, part.size()), operand, next, tail), part,
             constraints + ",l,b", more);
      }
      column += columns;
    }
  }
  assembly("wgmma.commit_group.sync.aligned;", "", {});
  // The registers of A must not be written while they are read: LLVM takes them for free from here on.
  if (a_in_registers) await_mma(0);
}

/// Opens a batch: what was written to the registers before becomes visible to it.
void Lowering::fence_mma(const std::vector<llvm::AllocaInst*>& slots, std::vector<llvm::Value*>& a_registers) {
  std::vector<llvm::AllocaInst*> all = slots;
  std::vector<llvm::AllocaInst*> copies;
  for (llvm::Value* v : a_registers) {
    copies.push_back(slot(v->getType(), "a"));
    b().CreateStore(v, copies.back());
  }
  all.insert(all.end(), copies.begin(), copies.end());
  tied("wgmma.fence.sync.aligned;", all, "", {});
  for (std::size_t i = 0; i < copies.size(); ++i) a_registers[i] = b().CreateLoad(b().getInt32Ty(), copies[i]);
}

/// The registers of an A operand, packed into words, in the order of the MMAs that take them: by 64 rows, then by step
/// of the sum.
std::vector<llvm::Value*> Lowering::pack_operand(const Tile& a) {
  const int per_word = 4 / ir::byte_size(a.dtype);
  std::vector<llvm::Value*> words;
  for (int reg = 0; reg < a.layout.register_count(); reg += per_word) {
    if (!a.layout.exists(reg)) continue;
    llvm::Type* element = llvm_type(a.dtype);
    if (per_word == 1) {
      words.push_back(b().CreateBitCast(a.registers[static_cast<std::size_t>(reg)], b().getInt32Ty()));
      continue;
    }
    llvm::Value* vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(element, static_cast<unsigned>(per_word)));
    for (int i = 0; i < per_word; ++i)
      vector = b().CreateInsertElement(vector, a.registers[static_cast<std::size_t>(reg + i)],
                                       static_cast<std::uint64_t>(i));
    words.push_back(b().CreateBitCast(vector, b().getInt32Ty()));
  }
  return words;
}

void Lowering::lower_wgmma_wait(const ir::Inst& inst) { await_mma(static_cast<int>(inst.attrs.integer(Attr::count))); }

Tile Lowering::read_accumulator(const Ref& ref, Dtype dtype, const Layout& layout) {
  const Accumulator& a = *ref.root->accumulator;
  const auto [row, column] = static_starts(*this, nullptr, ref);
  PK_CHECK(row >= 0 && column >= 0, "parts of accumulators are static");
  await_mma(0);
  const bool transposed = ref.axes[0].root_axis != 0;
  PK_CHECK(!transposed, "accumulators are not transposed");
  Tile whole{dtype, codegen::accumulator(a.type.shape), {}};
  for (int reg = 0; reg < a.layout.register_count(); ++reg) {
    if (!a.layout.exists(reg)) {
      whole.registers.push_back(nullptr);
    } else if (a.type.dtype == Dtype::f16) {
      llvm::Value* pair = b().CreateLoad(b().getInt32Ty(), a.slots[static_cast<std::size_t>(reg / 2)]);
      pair = b().CreateBitCast(pair, llvm::FixedVectorType::get(b().getHalfTy(), 2));
      whole.registers.push_back(b().CreateExtractElement(pair, static_cast<std::uint64_t>(reg % 2)));
    } else {
      whole.registers.push_back(b().CreateLoad(llvm_type(dtype), a.slots[static_cast<std::size_t>(reg)]));
    }
  }
  if (ref.shape() == a.type.shape) return convert_layout(whole, layout);
  const std::int64_t width = a.type.shape[1];
  return rearrange({{&whole, {width, 1}, 0}}, layout, {width, 1}, row * width + column);
}

void Lowering::write_accumulator(const Ref& ref, const Tile& tile) {
  const Accumulator& a = *ref.root->accumulator;
  const auto [row, column] = static_starts(*this, nullptr, ref);
  await_mma(0);
  const bool pairs = a.type.dtype == Dtype::f16;
  for (int reg = 0; reg < tile.layout.register_count(); reg += pairs ? 2 : 1) {
    if (!tile.layout.exists(reg)) continue;
    const Coords at = tile.layout.register_part(reg);
    llvm::AllocaInst* to = a.slot_at(row + at[0], column + at[1]);
    PK_CHECK(to != nullptr, "parts of accumulators begin at multiples of 64 rows and 8 columns");
    llvm::Value* value = tile.registers[static_cast<std::size_t>(reg)];
    if (pairs) {
      llvm::Value* vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(b().getHalfTy(), 2));
      vector = b().CreateInsertElement(vector, value, std::uint64_t{0});
      vector = b().CreateInsertElement(vector, tile.registers[static_cast<std::size_t>(reg + 1)], std::uint64_t{1});
      value = b().CreateBitCast(vector, b().getInt32Ty());
    }
    b().CreateStore(value, to);
  }
}

}  // namespace pk::codegen
