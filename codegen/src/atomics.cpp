// Atomic read-modify-write of elements in global and shared memory.

#include <fmt/format.h>

#include "element_pointers.h"
#include "lowering.h"

namespace pk::codegen {

using ir::Attr;
using ir::Dtype;

namespace {

/// "add.u32", "min.s64", "add.noftz.bf16", …; empty where the machine has none.
std::string operation(const std::string& kind, Dtype dtype) {
  const int bits = ir::info(dtype).bits;
  const bool is_float = ir::is_floating(dtype);
  if (kind == "exchange") return bits >= 32 ? fmt::format("exch.b{}", bits) : "";
  if (kind == "cas") return bits >= 16 ? fmt::format("cas.b{}", bits) : "";
  if (kind == "add") {
    if (dtype == Dtype::f32 || dtype == Dtype::f64) return fmt::format("add.f{}", bits);
    if (dtype == Dtype::f16 || dtype == Dtype::bf16) return fmt::format("add.noftz.{}", ir::spelling(dtype));
    return !is_float && bits >= 32 ? fmt::format("add.u{}", bits) : "";
  }
  if (is_float || bits < 32) return "";
  if (kind == "min" || kind == "max") return fmt::format("{}.{}{}", kind, ir::is_signed(dtype) ? "s" : "u", bits);
  return fmt::format("{}.b{}", kind, bits);
}

}  // namespace

Tile Lowering::atomic_tile(const ir::Inst& inst, const Ref& ref, const std::string& kind, const Tile& tile,
                           const Tile* compare, bool clipped, bool result) {
  const Dtype dtype = ref.root->dtype;
  const std::string how = operation(kind, dtype);
  if (how.empty()) unsupported(inst, fmt::format("atomic `{}` on {}", kind, ir::spelling(dtype)));
  const int bits = ir::info(dtype).bits;
  const bool global = ref.root->space == ir::Space::gmem;
  std::string order(inst.op == ir::Op::atomic ? inst.attrs.text(Attr::order) : std::string_view());
  std::string scope(inst.op == ir::Op::atomic ? inst.attrs.text(Attr::scope) : std::string_view());
  if (order.empty()) order = "relaxed";
  scope = scope == "block"     ? "cta"
          : scope == "cluster" ? "cluster"
          : scope == "system"  ? "sys"
          : global             ? "gpu"
                               : "cta";
  const char* space = global ? "global" : ref.peer != nullptr ? "shared::cluster" : "shared::cta";
  const std::string kind_of_register = bits == 16 ? "h" : bits == 32 ? "r" : "l";
  llvm::Type* word = b().getIntNTy(static_cast<unsigned>(bits));
  ElementPointers pointers(*this, ref, tile.layout);
  llvm::Value* first = first_holder(tile.layout);
  Tile old{dtype, tile.layout, std::vector<llvm::Value*>(tile.registers.size(), nullptr)};
  for (int reg = 0; reg < tile.layout.register_count(); ++reg) {
    if (!tile.layout.exists(reg)) continue;
    const auto at = static_cast<std::size_t>(reg);
    llvm::Value* condition = first == nullptr ? b().getTrue() : first;
    if (llvm::Value* good = inside(tile.layout, reg)) condition = b().CreateAnd(condition, good);
    if (clipped) condition = b().CreateAnd(condition, pointers.in_bounds(reg));
    llvm::Value* address = pointers(reg);
    if (!global && ref.peer == nullptr) address = b().CreatePtrToInt(address, b().getInt32Ty());
    std::vector<llvm::Value*> args{
        address, condition, b().CreateBitCast(compare != nullptr ? compare->registers[at] : tile.registers[at], word)};
    std::string operands = "$3";
    std::string constraints = std::string("=&") + kind_of_register + (global ? ",l,b," : ",r,b,") + kind_of_register;
    if (compare != nullptr) {
      args.push_back(b().CreateBitCast(tile.registers[at], word));
      operands += ", $4";
      constraints += "," + kind_of_register;
    }
    llvm::Value* was = assembly(
        fmt::format("mov.b{} $0, 0; @$2 atom.{}.{}.{}.{} $0, [$1], {};", bits, order, scope, space, how, operands),
        constraints, args, word);
    old.registers[at] = b().CreateBitCast(was, llvm_type(dtype));
  }
  if (!result || first == nullptr) return old;
  std::vector<std::int64_t> strides(tile.layout.shape.size(), 1);
  for (std::size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * tile.layout.shape[i];
  return through_memory({{&old, strides, 0}}, tile.layout, strides, 0);
}

void Lowering::lower_atomic(const ir::Inst& inst) {
  const Ref& to = ref(inst.operands[0]);
  const std::string kind(inst.attrs.text(Attr::kind));
  const ir::Value result = inst.results[0];
  const Layout layout = type(result).is_tile() ? planned(result) : replicated({});
  before_write(to.root->id);
  // cas takes what is expected and then what is stored.
  const Tile last = tile_in(inst.operands.back(), layout);
  std::optional<Tile> compare;
  if (inst.operands.size() > 2) compare = tile_in(inst.operands[1], layout);
  Tile old = atomic_tile(inst, to, kind, last, compare ? &*compare : nullptr, false, used_.contains(result));
  pending_.read.insert(to.root->id);
  if (type(result).is_tile()) return set(result, std::move(old));
  set(result, old.registers[0]);
}

}  // namespace pk::codegen
