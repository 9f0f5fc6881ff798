import JOSE
import PosternJSON
import PosternTestSupport
import Testing

@Suite("Attacks: mutated input")
struct RobustnessTests {
  /// `text` with a few bytes changed, taken out, doubled or put in.
  static func mutated(_ text: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
    var text = text
    for _ in 0...Int.random(in: 0...4, using: &generator) where !text.isEmpty {
      let position = Int.random(in: text.indices, using: &generator)
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: text[position] = UInt8.random(in: 0...255, using: &generator)
      case 1: text.remove(at: position)
      case 2: text.insert(contentsOf: text[position..<min(position + 9, text.count)], at: position)
      default: text.insert(Array(#"{}[]",:\.A0-_="#.utf8).randomElement(using: &generator) ?? 0, at: position)
      }
    }
    return text
  }

  @Test(
    "No mutation of a key set traps, and what is left of it can be used", arguments: [JWKSet.Origin.remote, .local])
  func keySets(_ origin: JWKSet.Origin) throws {
    let keys = JWKSet([TestKeys.rsa, TestKeys.p256, TestKeys.ed448, TestKeys.x25519])
    var entries = keys.publicJSON()["keys"]?.arrayValue ?? []
    entries.append(.object(try TestKeys.p384.privateJSONRevealingSecrets()))
    entries += try Vector.load("rfc-keys").flatMap { try $0.keys() }.filter { $0["x5c"] != nil }.map { .object($0) }
    let text = JSONWriter().write(["keys": .array(entries)])
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<1500 {
      guard let set = try? JWKSet(text: Self.mutated(text, &generator), origin: origin) else { continue }
      #expect(set.keys.count + set.rejected.count <= 8)
      for key in set.keys where origin == .remote { #expect(!key.material.isSecret) }
    }
  }

  @Test("No mutation of a token traps or passes for another one")
  func tokens() throws {
    let token = Array(try CompactJWS.sign(claims: ["sub": "1"], with: TestKeys.p256, algorithm: .es256).utf8)
    let encrypted = Array(
      try CompactJWE.encrypt([1], for: TestKeys.p256, algorithm: .ecdhESA128KW, encryption: .a128GCM).utf8)
    let keys = JWKSet([TestKeys.p256])
    var generator = SeededGenerator(seed: 2)
    for _ in 0..<3000 {
      let changed = Self.mutated(token, &generator)
      if changed != token {
        #expect(throws: JOSEError.self) { try verify(String(decoding: changed, as: UTF8.self), keys: keys) }
      }
      let other = Self.mutated(encrypted, &generator)
      if other != encrypted {
        #expect(throws: JOSEError.self) {
          try decrypt(String(decoding: other, as: UTF8.self), key: TestKeys.p256)
        }
      }
    }
  }

  @Test("No mutation of a header, validly signed, traps")
  func headers() {
    let header = Array(
      #"{"alg":"ECDH-ES","enc":"A128GCM","epk":{"kty":"EC","crv":"P-256","x":"AA","y":"AA"},"apu":"AA","p2c":1,"crit":["b64"],"b64":false}"#
        .utf8)
    var generator = SeededGenerator(seed: 3)
    for _ in 0..<3000 {
      let text = String(decoding: Self.mutated(header, &generator), as: UTF8.self)
      _ = try? CompactJWS(compact(text, "{}"))
      _ = try? decrypt(compact(text, "") + ".AAAAAAAAAAAAAAAA.AA", key: TestKeys.p256)
    }
  }

  @Test("No mutation of a PEM text traps", arguments: Vector.load("pem"))
  func privateKeys(_ vector: Vector) {
    let text = Array(vector.string("pem").utf8)
    var generator = SeededGenerator(seed: 4)
    for _ in 0..<60 { _ = try? JWK(pem: Self.mutated(text, &generator)) }
  }
}
