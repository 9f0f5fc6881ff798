import Foundation
import JOSE
import PosternJSON
import Testing

/// The committed corpus of the fuzzers, once through what they check. `make fuzz` goes on from there.
@Suite("Fuzzing corpus")
struct CorpusTests {
  struct Input: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]

    var testDescription: String { name }

    static func load(_ folder: String) throws -> [Input] {
      let folder = FixedMaterial.tests.appending(path: "Fuzz/Corpus/\(folder)")
      return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        .sorted { $0.lastPathComponent < $1.lastPathComponent }
        .map { Input(name: $0.lastPathComponent, bytes: Array(try Data(contentsOf: $0))) }
    }
  }

  /// The prefixes of the names of good tokens, and the step that those must reach.
  static let reached: [(prefix: String, outcome: TokenInvariants.Outcome)] = [
    ("valid-id-", .idToken), ("valid-access", .accessToken), ("valid-logout", .logoutToken),
    ("interop-jws-", .verified), ("interop-jwe-", .decrypted), ("rfc-jws-", .verified),
  ]

  @Test("No token of the corpus breaks an invariant, and the good ones still pass every check")
  func tokens() async throws {
    let inputs = try Input.load("tokens")
    #expect(inputs.count > 200)
    for input in inputs {
      let outcome = try await TokenInvariants.check(input.bytes)
      let expected = Self.reached.first { input.name.hasPrefix($0.prefix) }?.outcome ?? []
      #expect(outcome.isSuperset(of: expected), "\(input.name) came to \(outcome.rawValue) only")
    }
    for (prefix, _) in Self.reached { #expect(inputs.contains { $0.name.hasPrefix(prefix) }, "\(prefix)") }
  }

  @Test("No key set of the corpus breaks an invariant, and the good ones still give their keys")
  func keySets() throws {
    let inputs = try Input.load("keysets")
    #expect(inputs.count > 80)
    for input in inputs {
      let outcome = try KeySetInvariants.check(input.bytes)
      if input.name.hasPrefix("public-") { #expect(outcome.remote == 1 && outcome.local == 1, "\(input.name)") }
      if input.name.hasPrefix("private-") { #expect(outcome.remote == 0 && outcome.local == 1, "\(input.name)") }
      if input.name == "every-kind" { #expect(outcome.remote >= 8) }
    }
    #expect(inputs.contains { $0.name == "every-kind" })
  }

  @Test("No response of the corpus breaks an invariant, and the advice in it is still found")
  func advice() throws {
    let inputs = try Input.load("advice")
    #expect(inputs.count > 30)
    for input in inputs {
      let count = try AdviceInvariants.check(input.bytes)
      if input.name.hasPrefix("found-") { #expect(count > 0, "\(input.name)") }
    }
  }

  @Test("No answer of the corpus gives a permit that is not in it, and the permits in it are still given")
  func decisions() async throws {
    let inputs = try Input.load("decisions")
    #expect(inputs.count > 60)
    for input in inputs {
      let permits = try await DecisionInvariants.check(input.bytes)
      if input.name.hasPrefix("permit-") { #expect(permits > 0, "\(input.name)") }
      if input.name.hasPrefix("none-") { #expect(permits == 0, "\(input.name)") }
    }
    for kind in DecisionInput.Kind.allCases where kind != .metadata {
      #expect(inputs.contains { $0.name.hasPrefix("permit-\(kind.rawValue)-") }, "\(kind)")
    }
  }

  @Test("Answers made of pieces of the corpus give no permit that is not in them, either")
  func mutatedDecisions() async throws {
    let seeds = try Input.load("decisions").map(\.bytes)
    let pieces = ["true", "false", "null", "\"", "{", "}", "[", "]", ",", ":", "\n", "\t", "1", "\\u0061", "\u{301}"]
    var state: UInt64 = 11
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }
    var permits = 0
    for round in 0..<3000 {
      var bytes = seeds[round % seeds.count]
      for _ in 0...next(3) {
        let position = next(bytes.count + 1)
        switch next(4) {
        case 0: bytes.removeSubrange(position..<min(position + 1 + next(6), bytes.count))
        case 1: bytes.insert(contentsOf: pieces[next(pieces.count)].utf8, at: position)
        case 2: bytes.insert(contentsOf: bytes.suffix(bytes.count - position).prefix(next(40)), at: next(position + 1))
        default: bytes = Array(bytes.prefix(position)) + seeds[next(seeds.count)].suffix(next(80))
        }
      }
      permits += try await DecisionInvariants.check(bytes)
    }
    // The door was passed.
    #expect(permits > 50)
  }

  @Test("The invariants have keys and tokens to judge by, and a broken one is seen")
  func invariantsAreLive() async throws {
    let genuine = try #require(FixedMaterial.shared.genuine.first)
    #expect(FixedMaterial.shared.keys.count > 15 && FixedMaterial.shared.genuine.count > 100 && genuine.count > 20)
    #expect(FixedMaterial.shared.published.keys.count == 7)
    #expect(throws: InvariantViolation.self) { try demand(false, "broken") }
    #expect(throws: InvariantViolation.self) {
      try ClaimOracle().check(claims: ["iss": "https://evil.test"], header: [:])
    }
  }
}
