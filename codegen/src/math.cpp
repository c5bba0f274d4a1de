// Functions of floats.

#include "lowering.h"

namespace pk::codegen {

using ir::Dtype;
using ir::Op;

namespace {

llvm::Value* number(Builder& b, double x) { return llvm::ConstantFP::get(b.getFloatTy(), x); }

llvm::Value* fma(Builder& b, llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}

/// c[0] + c[1] x + c[2] x^2 + …
llvm::Value* polynomial(Builder& b, llvm::Value* x, llvm::ArrayRef<double> c) {
  llvm::Value* sum = llvm::ConstantFP::get(x->getType(), c.back());
  for (std::size_t i = c.size() - 1; i-- > 0;) sum = fma(b, sum, x, llvm::ConstantFP::get(x->getType(), c[i]));
  return sum;
}

/// x * 2^n for an integer n, in two steps so that results near both ends of the range come out right.
llvm::Value* scale(Builder& b, llvm::Value* x, llvm::Value* n) {
  const auto power = [&](llvm::Value* e) {
    return b.CreateBitCast(b.CreateShl(b.CreateAdd(e, b.getInt32(127)), 23), b.getFloatTy());
  };
  llvm::Value* half = b.CreateAShr(n, 1);
  return b.CreateFMul(b.CreateFMul(x, power(half)), power(b.CreateSub(n, half)));
}

/// e^x, within about one unit in the last place: 2^n times a polynomial in what is left.
llvm::Value* exp_f32(Builder& b, llvm::Value* x) {
  llvm::Value* low = b.CreateSelect(b.CreateFCmpOLT(x, number(b, -104.0)), number(b, -104.0), x);
  llvm::Value* in = b.CreateSelect(b.CreateFCmpOGT(low, number(b, 89.0)), number(b, 89.0), low);
  llvm::Value* n = b.CreateUnaryIntrinsic(llvm::Intrinsic::rint, b.CreateFMul(in, number(b, 1.4426950408889634)));
  // ln 2 in two parts, the first of which has so few bits that n times it is exact.
  llvm::Value* r = fma(b, n, number(b, -0.693145751953125), in);
  r = fma(b, n, number(b, -1.42860682030941723212e-6), r);
  llvm::Value* p = polynomial(b, r, {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040});
  return scale(b, p, b.CreateIntrinsic(llvm::Intrinsic::nvvm_f2i_rn, {}, {n}));
}

}  // namespace

llvm::Value* Lowering::math_function(Op op, Dtype dtype, llvm::ArrayRef<llvm::Value*> operands, bool) {
  if (dtype == Dtype::f64) return nullptr;
  llvm::Value* x = cast_value(operands[0], dtype, Dtype::f32);
  llvm::Value* result = nullptr;
  if (op == Op::exp) result = exp_f32(b(), x);
  return result == nullptr ? nullptr : cast_value(result, Dtype::f32, dtype);
}

}  // namespace pk::codegen
