#include "value.h"

namespace pk::sema {

Val Val::nothing() {
  Val v;
  v.kind = Kind::none;
  return v;
}

Val Val::integer(Sym s, bool is_index) {
  Val v;
  v.kind = Kind::integer;
  v.sym = std::move(s);
  v.is_index = is_index;
  return v;
}

Val Val::of_real(double x) {
  Val v;
  v.kind = Kind::real;
  v.real = x;
  return v;
}

Val Val::boolean(bool b) {
  Val v;
  v.kind = Kind::boolean;
  v.flag = b;
  return v;
}

Val Val::of_dtype(ir::Dtype t) {
  Val v;
  v.kind = Kind::dtype;
  v.type = SemType::scalar(t);
  return v;
}

Val Val::value(ir::Value ir_value, SemType t) {
  Val v;
  v.kind = Kind::value;
  v.ir = ir_value;
  v.type = std::move(t);
  return v;
}

}  // namespace pk::sema
