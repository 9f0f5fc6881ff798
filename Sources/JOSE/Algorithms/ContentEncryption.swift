import PosternCrypto
public import PosternSupport

/// A content encryption algorithm: one row of the table of `enc` values (RFC 7518 section 5).
public struct ContentEncryption: Sendable {
  /// The cipher.
  enum Scheme: Sendable, Hashable {
    case gcm
    case cbcHMAC(AESCBCHMAC)
  }

  /// The `enc` value.
  public let name: String
  /// The length of the content encryption key in bytes.
  public let keyByteCount: Int
  let ivByteCount: Int
  let tagByteCount: Int
  let scheme: Scheme

  /// AES-GCM with a 128-bit key.
  public static let a128GCM = gcm("A128GCM", keyByteCount: 16)
  /// AES-GCM with a 192-bit key.
  public static let a192GCM = gcm("A192GCM", keyByteCount: 24)
  /// AES-GCM with a 256-bit key.
  public static let a256GCM = gcm("A256GCM", keyByteCount: 32)
  /// AES-128-CBC with HMAC-SHA-256.
  public static let a128CBCHS256 = cbc("A128CBC-HS256", .sha256)
  /// AES-192-CBC with HMAC-SHA-384.
  public static let a192CBCHS384 = cbc("A192CBC-HS384", .sha384)
  /// AES-256-CBC with HMAC-SHA-512.
  public static let a256CBCHS512 = cbc("A256CBC-HS512", .sha512)

  /// The whole table.
  public static let all = [a128GCM, a192GCM, a256GCM, a128CBCHS256, a192CBCHS384, a256CBCHS512]

  /// The row of `name`, compared byte by byte; nil for a name that is not in the table.
  public init?(name: String) {
    guard let row = Self.all.first(where: { $0.name.hasSameBytes(as: name) }) else { return nil }
    self = row
  }

  private init(name: String, keyByteCount: Int, ivByteCount: Int, tagByteCount: Int, scheme: Scheme) {
    self.name = name
    self.keyByteCount = keyByteCount
    self.ivByteCount = ivByteCount
    self.tagByteCount = tagByteCount
    self.scheme = scheme
  }

  private static func gcm(_ name: String, keyByteCount: Int) -> ContentEncryption {
    ContentEncryption(
      name: name, keyByteCount: keyByteCount, ivByteCount: AESGCM.nonceByteCount, tagByteCount: AESGCM.tagByteCount,
      scheme: .gcm)
  }

  private static func cbc(_ name: String, _ cipher: AESCBCHMAC) -> ContentEncryption {
    ContentEncryption(
      name: name, keyByteCount: cipher.keyByteCount, ivByteCount: AESCBCHMAC.ivByteCount,
      tagByteCount: cipher.tagByteCount, scheme: .cbcHMAC(cipher))
  }
}

extension ContentEncryption: Hashable {
  /// Same name.
  public static func == (left: ContentEncryption, right: ContentEncryption) -> Bool { left.name == right.name }

  /// Feeds the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension ContentEncryption: ConciseStringConvertible {
  /// The `enc` value.
  public var description: String { name }
}

extension ContentEncryption {
  /// Encrypts `plaintext` under `key` with a fresh initialization vector.
  func seal(
    _ plaintext: RawSpan, key: SymmetricKey, authenticating data: RawSpan
  ) throws(CryptoError) -> (iv: [UInt8], message: SealedMessage) {
    let iv = SecureRandom.bytes(ivByteCount)
    switch scheme {
    case .gcm: return (iv, try AESGCM.seal(plaintext, key: key, nonce: iv, authenticating: data))
    case .cbcHMAC(let cipher): return (iv, try cipher.seal(plaintext, key: key, iv: iv, authenticating: data))
    }
  }

  /// The plaintext of `message`; nil for any fault, wrong lengths of the vector and the tag included: the algorithm
  /// fixes them, the token does not (CVE-2023-37464).
  func open(_ message: SealedMessage, key: SymmetricKey, iv: [UInt8], authenticating data: RawSpan) -> [UInt8]? {
    guard iv.count == ivByteCount, message.tag.count == tagByteCount else { return nil }
    switch scheme {
    case .gcm: return try? AESGCM.open(message, key: key, nonce: iv, authenticating: data)
    case .cbcHMAC(let cipher): return try? cipher.open(message, key: key, iv: iv, authenticating: data)
    }
  }
}
