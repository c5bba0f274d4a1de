// Scalars and tiles, element by element: constants, coordinates, arithmetic, comparisons, selections.

#include "lowering.h"

namespace pk::codegen {

using ir::Attr;
using ir::Dtype;
using ir::Op;

namespace {

llvm::Value* unary_intrinsic(Builder& b, llvm::Intrinsic::ID id, llvm::Value* x) {
  return b.CreateUnaryIntrinsic(id, x);
}
llvm::Value* binary_intrinsic(Builder& b, llvm::Intrinsic::ID id, llvm::Value* x, llvm::Value* y) {
  return b.CreateBinaryIntrinsic(id, x, y);
}

llvm::Value* integer_unary(Builder& b, Op op, bool is_signed, llvm::Value* x) {
  llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
  switch (op) {
    case Op::neg:
      return b.CreateNeg(x);
    case Op::bit_not:
      return b.CreateNot(x);
    case Op::abs:
      return is_signed ? b.CreateSelect(b.CreateICmpSLT(x, zero), b.CreateNeg(x), x) : x;
    case Op::sign: {
      llvm::Value* positive = is_signed ? b.CreateICmpSGT(x, zero) : b.CreateICmpUGT(x, zero);
      llvm::Value* negative = is_signed ? b.CreateICmpSLT(x, zero) : static_cast<llvm::Value*>(b.getFalse());
      return b.CreateSub(b.CreateZExt(positive, x->getType()), b.CreateZExt(negative, x->getType()));
    }
    case Op::popcount:
      return unary_intrinsic(b, llvm::Intrinsic::ctpop, x);
    case Op::clz:
      return b.CreateIntrinsic(llvm::Intrinsic::ctlz, {x->getType()}, {x, b.getFalse()});
    default:  // not an integer operation
      return nullptr;
  }
}

/// Division never traps here: a zero divisor gives 0 and the one overflow the smallest value, as in the interpreter's
/// masked-off elements.
llvm::Value* divide(Builder& b, Op op, bool is_signed, llvm::Value* x, llvm::Value* y) {
  llvm::Type* type = x->getType();
  llvm::Value* zero = llvm::Constant::getNullValue(type);
  llvm::Value* one = llvm::ConstantInt::get(type, 1);
  llvm::Value* by_zero = b.CreateICmpEQ(y, zero);
  llvm::Value* overflow = b.getFalse();
  if (is_signed) {
    llvm::Value* lowest = llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(type->getIntegerBitWidth()));
    overflow = b.CreateAnd(b.CreateICmpEQ(x, lowest), b.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(type)));
  }
  llvm::Value* safe = b.CreateSelect(b.CreateOr(by_zero, overflow), one, y);
  llvm::Value* quotient = is_signed ? b.CreateSDiv(x, safe) : b.CreateUDiv(x, safe);
  // With the divisor 1 in place of -1 the quotient of the overflow is the smallest value itself, and the remainder 0.
  llvm::Value* remainder = is_signed ? b.CreateSRem(x, safe) : b.CreateURem(x, safe);
  llvm::Value* inexact = b.CreateICmpNE(remainder, zero);
  llvm::Value* negative =
      is_signed ? b.CreateICmpSLT(b.CreateXor(x, safe), zero) : static_cast<llvm::Value*>(b.getFalse());
  llvm::Value* result = nullptr;
  switch (op) {
    case Op::div:
      result = quotient;
      break;
    case Op::rem:
      result = remainder;
      break;
    case Op::floordiv:
      result = b.CreateSub(quotient, b.CreateZExt(b.CreateAnd(inexact, negative), type));
      break;
    case Op::cdiv:
      result = b.CreateAdd(quotient, b.CreateZExt(b.CreateAnd(inexact, b.CreateNot(negative)), type));
      break;
    case Op::mod:
      result = b.CreateSelect(b.CreateAnd(inexact, negative), b.CreateAdd(remainder, safe), remainder);
      break;
    default:  // not a division
      return nullptr;
  }
  return b.CreateSelect(by_zero, zero, result);
}

llvm::Value* shift(Builder& b, Op op, bool is_signed, llvm::Value* x, llvm::Value* y) {
  const unsigned width = x->getType()->getIntegerBitWidth();
  llvm::Value* inside = b.CreateICmpULT(y, llvm::ConstantInt::get(y->getType(), width));
  llvm::Value* count = b.CreateSelect(inside, y, llvm::ConstantInt::get(y->getType(), width - 1));
  llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
  if (op == Op::shl) return b.CreateSelect(inside, b.CreateShl(x, count), zero);
  if (is_signed) return b.CreateAShr(x, count);
  return b.CreateSelect(inside, b.CreateLShr(x, count), zero);
}

llvm::Value* integer_binary(Builder& b, Op op, bool is_signed, llvm::Value* x, llvm::Value* y) {
  switch (op) {
    case Op::add:
      return b.CreateAdd(x, y);
    case Op::sub:
      return b.CreateSub(x, y);
    case Op::mul:
      return b.CreateMul(x, y);
    case Op::div:
    case Op::rem:
    case Op::floordiv:
    case Op::mod:
    case Op::cdiv:
      return divide(b, op, is_signed, x, y);
    case Op::min:
      return binary_intrinsic(b, is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x, y);
    case Op::max:
      return binary_intrinsic(b, is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x, y);
    case Op::bit_and:
      return b.CreateAnd(x, y);
    case Op::bit_or:
      return b.CreateOr(x, y);
    case Op::bit_xor:
      return b.CreateXor(x, y);
    case Op::shl:
    case Op::shr:
      return shift(b, op, is_signed, x, y);
    default:  // not an integer operation
      return nullptr;
  }
}

/// Operations of IEEE floats that every type has at its own width.
llvm::Value* sign_operation(Builder& b, Op op, llvm::Value* x) {
  if (op == Op::neg) return b.CreateFNeg(x);
  if (op == Op::abs) return unary_intrinsic(b, llvm::Intrinsic::fabs, x);
  return nullptr;
}

llvm::Value* float_unary(Builder& b, Op op, llvm::Value* x) {
  switch (op) {
    case Op::sign: {
      llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
      llvm::Value* one = llvm::ConstantFP::get(x->getType(), 1.0);
      llvm::Value* minus = llvm::ConstantFP::get(x->getType(), -1.0);
      return b.CreateSelect(b.CreateFCmpOGT(x, zero), one, b.CreateSelect(b.CreateFCmpOLT(x, zero), minus, x));
    }
    case Op::sqrt:
      return unary_intrinsic(b, llvm::Intrinsic::sqrt, x);
    case Op::floor:
      return unary_intrinsic(b, llvm::Intrinsic::floor, x);
    case Op::ceil:
      return unary_intrinsic(b, llvm::Intrinsic::ceil, x);
    case Op::trunc:
      return unary_intrinsic(b, llvm::Intrinsic::trunc, x);
    case Op::round:
      return unary_intrinsic(b, llvm::Intrinsic::rint, x);
    default:  // a function, or not an operation of floats
      return nullptr;
  }
}

/// The smaller or larger of two; -0 counts as smaller than 0, and a NaN wins.
llvm::Value* extreme(Builder& b, bool smaller, llvm::Value* x, llvm::Value* y) {
  if (x->getType()->isFloatTy())
    return binary_intrinsic(b, smaller ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum, x, y);
  llvm::Type* type = x->getType();
  llvm::Type* bits = b.getIntNTy(type->getScalarSizeInBits());
  llvm::Value* bx = b.CreateBitCast(x, bits);
  llvm::Value* by = b.CreateBitCast(y, bits);
  llvm::Value* same = b.CreateBitCast(smaller ? b.CreateOr(bx, by) : b.CreateAnd(bx, by), type);
  llvm::Value* first = smaller ? b.CreateFCmpOLT(x, y) : b.CreateFCmpOGT(x, y);
  llvm::Value* second = smaller ? b.CreateFCmpOLT(y, x) : b.CreateFCmpOGT(y, x);
  llvm::Value* other = b.CreateSelect(b.CreateFCmpOEQ(x, y), same, b.CreateFAdd(x, y));
  return b.CreateSelect(first, x, b.CreateSelect(second, y, other));
}

llvm::Value* float_binary(Builder& b, Op op, llvm::Value* x, llvm::Value* y) {
  switch (op) {
    case Op::add:
      return b.CreateFAdd(x, y);
    case Op::sub:
      return b.CreateFSub(x, y);
    case Op::mul:
      return b.CreateFMul(x, y);
    case Op::div:
      return b.CreateFDiv(x, y);
    case Op::min:
    case Op::max:
      return extreme(b, op == Op::min, x, y);
    case Op::fmin:
    case Op::fmax: {
      llvm::Value* other = b.CreateSelect(b.CreateFCmpUNO(y, y), x, extreme(b, op == Op::fmin, x, y));
      return b.CreateSelect(b.CreateFCmpUNO(x, x), y, other);
    }
    case Op::copysign:
      return binary_intrinsic(b, llvm::Intrinsic::copysign, x, y);
    default:  // a function, or not an operation of floats
      return nullptr;
  }
}

llvm::Value* compare_floats(Builder& b, Op op, llvm::Value* x, llvm::Value* y) {
  switch (op) {
    case Op::eq:
      return b.CreateFCmpOEQ(x, y);
    case Op::ne:
      return b.CreateFCmpUNE(x, y);
    case Op::lt:
      return b.CreateFCmpOLT(x, y);
    case Op::le:
      return b.CreateFCmpOLE(x, y);
    case Op::gt:
      return b.CreateFCmpOGT(x, y);
    default:  // ge, the last comparison
      return b.CreateFCmpOGE(x, y);
  }
}

llvm::Value* compare_integers(Builder& b, Op op, bool is_signed, llvm::Value* x, llvm::Value* y) {
  switch (op) {
    case Op::eq:
      return b.CreateICmpEQ(x, y);
    case Op::ne:
      return b.CreateICmpNE(x, y);
    case Op::lt:
      return is_signed ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y);
    case Op::le:
      return is_signed ? b.CreateICmpSLE(x, y) : b.CreateICmpULE(x, y);
    case Op::gt:
      return is_signed ? b.CreateICmpSGT(x, y) : b.CreateICmpUGT(x, y);
    default:  // ge, the last comparison
      return is_signed ? b.CreateICmpSGE(x, y) : b.CreateICmpUGE(x, y);
  }
}

bool is_wide(Dtype t) { return t == Dtype::f32 || t == Dtype::f64; }
/// The machine has these at the width of f16 and bf16, rounded once.
bool is_native_16_bit(Op op, Dtype t) {
  return (t == Dtype::f16 || t == Dtype::bf16) && (op == Op::add || op == Op::sub || op == Op::mul);
}

}  // namespace

llvm::Value* Lowering::binary(Op op, Dtype dtype, llvm::Value* x, llvm::Value* y) {
  if (dtype == Dtype::boolean || !ir::is_floating(dtype)) return integer_binary(b(), op, ir::is_signed(dtype), x, y);
  if (is_wide(dtype) || is_native_16_bit(op, dtype)) return float_binary(b(), op, x, y);
  llvm::Value* result = float_binary(b(), op, cast_value(x, dtype, Dtype::f32), cast_value(y, dtype, Dtype::f32));
  return result == nullptr ? nullptr : cast_value(result, Dtype::f32, dtype);
}

llvm::Value* Lowering::elementwise(const ir::Inst& inst, Dtype dtype, llvm::ArrayRef<llvm::Value*> x) {
  const bool is_float = ir::is_floating(dtype);
  const auto wide = [&](std::size_t i) {
    return is_float && !is_wide(dtype) ? cast_value(x[i], dtype, Dtype::f32) : x[i];
  };
  const Op op = inst.op;
  llvm::Value* result = nullptr;
  switch (ir::info(op).cls) {
    case ir::OpClass::unary:
      if (op == Op::logical_not) return b().CreateNot(x[0]);
      if (!is_float) result = integer_unary(b(), op, ir::is_signed(dtype), x[0]);
      if (is_float && !x[0]->getType()->isIntegerTy()) result = sign_operation(b(), op, x[0]);
      if (is_float && result == nullptr) {
        llvm::Value* operand = wide(0);
        result = sign_operation(b(), op, operand);
        if (result == nullptr) result = float_unary(b(), op, operand);
        if (result != nullptr && !is_wide(dtype)) result = cast_value(result, Dtype::f32, dtype);
      }
      break;
    case ir::OpClass::predicate: {
      llvm::Value* v = wide(0);
      if (op == Op::is_nan) return b().CreateFCmpUNO(v, v);
      llvm::Value* magnitude = unary_intrinsic(b(), llvm::Intrinsic::fabs, v);
      llvm::Value* infinity = llvm::ConstantFP::getInfinity(v->getType());
      return op == Op::is_inf ? b().CreateFCmpOEQ(magnitude, infinity) : b().CreateFCmpOLT(magnitude, infinity);
    }
    case ir::OpClass::binary:
      result = binary(op, dtype, x[0], x[1]);
      break;
    case ir::OpClass::comparison:
      if (is_float) return compare_floats(b(), op, wide(0), wide(1));
      return compare_integers(b(), op, ir::is_signed(dtype), x[0], x[1]);
    case ir::OpClass::ternary:
      if (op == Op::select) return b().CreateSelect(x[0], x[1], x[2]);
      if (op == Op::clamp) return binary(Op::min, dtype, binary(Op::max, dtype, x[0], x[1]), x[2]);
      if (op == Op::fma && dtype != Dtype::f8e4m3 && dtype != Dtype::f8e5m2)
        return b().CreateIntrinsic(llvm::Intrinsic::fma, {x[0]->getType()}, {x[0], x[1], x[2]});
      break;
    default:  // `lower_elementwise` is called for elementwise operations only
      break;
  }
  if (result == nullptr && is_float) result = math_function(op, dtype, x, inst.attrs.flag(Attr::fast));
  if (result == nullptr) unsupported(inst);
  return result;
}

void Lowering::lower_elementwise(const ir::Inst& inst) {
  const ir::Value result = inst.results[0];
  const Dtype from = type(inst.operands[inst.op == Op::select ? 1 : 0]).dtype;
  const auto compute = [&](llvm::ArrayRef<llvm::Value*> operands) {
    if (inst.op == Op::cast) return cast_value(operands[0], from, type(result).dtype);
    if (inst.op == Op::bitcast) return bitcast_value(operands[0], from, type(result).dtype);
    return elementwise(inst, from, operands);
  };
  std::vector<llvm::Value*> operands(inst.operands.size());
  if (!type(result).is_tile()) {
    for (std::size_t i = 0; i < operands.size(); ++i) operands[i] = scalar(inst.operands[i]);
    return set(result, compute(operands));
  }
  const Layout& layout = planned(result);
  std::vector<Tile> tiles;
  for (const ir::Value v : inst.operands) tiles.push_back(tile_in(v, layout));
  Tile out{type(result).dtype, layout,
           std::vector<llvm::Value*>(static_cast<std::size_t>(layout.register_count()), nullptr)};
  for (std::size_t reg = 0; reg < out.registers.size(); ++reg) {
    if (!layout.exists(static_cast<int>(reg))) continue;
    for (std::size_t i = 0; i < operands.size(); ++i) operands[i] = tiles[i].registers[reg];
    out.registers[reg] = compute(operands);
  }
  set(result, std::move(out));
}

void Lowering::lower_constant(const ir::Inst& inst) {
  const ir::Value result = inst.results[0];
  const auto axis = static_cast<std::size_t>(inst.attrs.integer(Attr::axis));
  switch (inst.op) {
    case Op::constant:
      return set(result,
                 constant(type(result).dtype, inst.attrs.real(Attr::value_float), inst.attrs.integer(Attr::value_int)));
    case Op::coord:
      return set(result, coordinate(axis));
    case Op::axis_size:
      return set(result, extent(axis));
    default:  // dim_value, the last of the class
      return set(result, dims_[static_cast<std::size_t>(inst.attrs.integer(Attr::dim))]);
  }
}

void Lowering::lower_iota(const ir::Inst& inst) {
  const ir::Value result = inst.results[0];
  const Layout& layout = planned(result);
  const std::int64_t axis = inst.attrs.integer(Attr::axis, -1);
  std::vector<std::int64_t> strides(layout.shape.size(), axis < 0 ? 1 : 0);
  if (axis >= 0) strides[static_cast<std::size_t>(axis)] = 1;
  for (std::size_t i = layout.shape.size(); axis < 0 && i-- > 1;) strides[i - 1] = strides[i] * layout.shape[i];
  const auto number = [&](const Coords& coords) {
    std::int64_t n = 0;
    for (std::size_t i = 0; i < coords.size(); ++i) n += coords[i] * strides[i];
    return n;
  };
  std::vector<std::int64_t> contributions;
  for (const Coords& basis : layout.lanes) contributions.push_back(number(basis));
  llvm::Value* mine = lane_coordinate(contributions);
  Tile out{type(result).dtype, layout, {}};
  for (int reg = 0; reg < layout.register_count(); ++reg) {
    llvm::Value* n = b().CreateAdd(mine, i32(number(layout.register_part(reg))));
    out.registers.push_back(layout.exists(reg) ? cast_value(n, Dtype::u32, out.dtype) : nullptr);
  }
  set(result, std::move(out));
}

}  // namespace pk::codegen
