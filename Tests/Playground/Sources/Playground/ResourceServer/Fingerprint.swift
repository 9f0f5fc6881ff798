import PosternCrypto

/// A short digest that is shown instead of a credential.
enum Fingerprint {
  /// The scheme in clear and the first eight hexadecimal digits of the SHA-256 of the rest: `Bearer sha256:0a1b2c3d`.
  static func of(_ authorization: String) -> String {
    let parts = authorization.split(separator: " ", maxSplits: 1)
    let scheme = parts.count == 2 ? parts[0] + " " : ""
    let digest = HashFunction.sha256.hash(Array((parts.last ?? "").utf8))
    let digits = digest.prefix(4).map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }
    return scheme + "sha256:" + digits.joined()
  }
}
