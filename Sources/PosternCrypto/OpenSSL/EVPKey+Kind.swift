import CPosternOpenSSL

extension EVPKey {
  /// The families that have types of their own here.
  enum Kind {
    case rsa
    case ec
    case edwards(EdwardsCurve)
    case montgomery(MontgomeryCurve)
  }

  /// The family of a key that OpenSSL has parsed; nil when it is none of ours.
  var kind: Kind? {
    ErrorQueue.discarding {
      withPointer { key in
        if EVP_PKEY_is_a(key, "RSA") == 1 { return .rsa }
        if EVP_PKEY_is_a(key, "EC") == 1 { return .ec }
        for curve in EdwardsCurve.allCases where EVP_PKEY_is_a(key, curve.keyType) == 1 { return .edwards(curve) }
        for curve in MontgomeryCurve.allCases where EVP_PKEY_is_a(key, curve.keyType) == 1 {
          return .montgomery(curve)
        }
        return nil
      }
    }
  }
}
