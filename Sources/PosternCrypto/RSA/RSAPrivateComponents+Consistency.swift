import CPosternOpenSSL

extension RSAPrivateComponents {
  /// Whether the numbers belong together: n = p·q, dp = d mod (p − 1), dq = d mod (q − 1), e·dp ≡ 1, e·dq ≡ 1, qi·q ≡
  /// 1.
  ///
  /// Microseconds, where OpenSSL's own check also proves p and q prime and takes seconds for a large key: too much for
  /// a key that a caller may send with every request, and whether they are prime harms nobody but the key's owner.
  func areConsistent() -> Bool {
    ErrorQueue.discarding {
      guard let context = BN_CTX_new() else { return false }
      defer { BN_CTX_free(context) }
      let numbers = ([modulus, exponent] + secrets).map { BN_bin2bn($0, Int32(clamping: $0.count), nil) }
      defer { for number in numbers { BN_clear_free(number) } }
      guard let result = BN_new(), let minusOne = BN_new() else { return false }
      defer {
        BN_clear_free(result)
        BN_clear_free(minusOne)
      }
      func isInverse(_ left: OpaquePointer?, _ right: OpaquePointer?, modulo: OpaquePointer?) -> Bool {
        BN_mod_mul(result, left, right, modulo, context) == 1 && BN_is_one(result) == 1
      }
      func isExponent(_ reduced: OpaquePointer?, for prime: OpaquePointer?) -> Bool {
        BN_copy(minusOne, prime) != nil && BN_sub_word(minusOne, 1) == 1
          && BN_div(nil, result, numbers[2], minusOne, context) == 1 && BN_cmp(result, reduced) == 0
          && isInverse(numbers[1], reduced, modulo: minusOne)
      }
      return BN_mul(result, numbers[3], numbers[4], context) == 1 && BN_cmp(result, numbers[0]) == 0
        && isExponent(numbers[5], for: numbers[3]) && isExponent(numbers[6], for: numbers[4])
        && isInverse(numbers[7], numbers[4], modulo: numbers[3])
    }
  }
}
