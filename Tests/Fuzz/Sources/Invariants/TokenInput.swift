import PosternCrypto
import PosternSupport

/// The meaning of an input's bytes: a token as it is, or the parts of one, so that mutation reaches what is behind
/// base64url and behind signatures.
///
/// A composed input begins with a letter and a line feed; its parts end at line feeds, the last one at the end.
/// - `S` header, payload: signed with the client secret, or with Ed25519 when the header speaks of it
/// - `U` header, payload: with 64 bytes in place of a signature
/// - `E` header, plaintext: encrypted with A128GCM under the key that the client secret gives
/// - `N` header, inner header, payload: signed, then encrypted
/// - `J` header, then the other four parts of a JWE as text
struct TokenInput {
  /// The token.
  let text: String
  /// Whether it was signed or encrypted here, so that it may be accepted.
  let isMadeHere: Bool

  init(_ bytes: [UInt8]) throws {
    guard bytes.count > 2, bytes[1] == UInt8(ascii: "\n"), let kind = Kind(rawValue: bytes[0]) else {
      self.init(text: bytes, isMadeHere: false)
      return
    }
    let parts = bytes[2...]
      .split(separator: UInt8(ascii: "\n"), maxSplits: kind.partCount - 1, omittingEmptySubsequences: false)
      .map(Array.init)
    guard parts.count == kind.partCount else {
      self.init(text: bytes, isMadeHere: false)
      return
    }
    switch kind {
    case .signed: self.init(text: try Self.signed(parts[0], parts[1]), isMadeHere: true)
    case .unsigned:
      self.init(text: Self.joined([parts[0], parts[1], [UInt8](repeating: 7, count: 64)]), isMadeHere: false)
    case .encrypted: self.init(text: try Self.sealed(parts[0], parts[1]), isMadeHere: true)
    case .nested: self.init(text: try Self.sealed(parts[0], Self.signed(parts[1], parts[2])), isMadeHere: true)
    case .jwe: self.init(text: Base64URL.encode(parts[0]) + [UInt8(ascii: ".")] + parts[1], isMadeHere: false)
    }
  }

  private enum Kind: UInt8 {
    case signed = 0x53
    case unsigned = 0x55
    case encrypted = 0x45
    case nested = 0x4e
    case jwe = 0x4a

    var partCount: Int { self == .nested ? 3 : 2 }
  }

  private init(text: [UInt8], isMadeHere: Bool) {
    self.text = String(decoding: text, as: UTF8.self)
    self.isMadeHere = isMadeHere
  }

  private static func joined(_ parts: [[UInt8]]) -> [UInt8] {
    Array(parts.map { Base64URL.encode($0) }.joined(separator: [UInt8(ascii: ".")]))
  }

  private static func signed(_ header: [UInt8], _ payload: [UInt8]) throws -> [UInt8] {
    let input = joined([header, payload])
    let signature: [UInt8]
    if String(decoding: header, as: UTF8.self).contains("Ed"), let signer = FixedMaterial.shared.signer {
      signature = try signer.signature(for: input.span.bytes)
    } else {
      let secret = SymmetricKey(Array(FixedMaterial.clientSecret.utf8))
      signature = try HMAC.authenticate(input.span.bytes, using: .sha256, key: secret)
    }
    return input + [UInt8(ascii: ".")] + Base64URL.encode(signature)
  }

  private static func sealed(_ header: [UInt8], _ plaintext: [UInt8]) throws -> [UInt8] {
    let data = Base64URL.encode(header)
    let key = SymmetricKey(Array(HashFunction.sha256.hash(Array(FixedMaterial.clientSecret.utf8))[..<16]))
    let nonce = [UInt8](repeating: 9, count: AESGCM.nonceByteCount)
    let sealed = try AESGCM.seal(plaintext.span.bytes, key: key, nonce: nonce, authenticating: data.span.bytes)
    return data + Array("..".utf8) + joined([nonce, sealed.ciphertext, sealed.tag])
  }
}
