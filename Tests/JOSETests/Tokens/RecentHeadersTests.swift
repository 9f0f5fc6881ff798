import JOSE
import PosternJSON
import Testing

@Suite("Tokens: headers that were seen before")
struct RecentHeadersTests {
  @Test("Every token has its own header, however many others came between")
  func ownHeader() throws {
    for _ in 0..<3 {
      for number in 0..<20 {
        let token = compact(#"{"alg":"ES256","kid":"k\#(number)"}"#, "{}")
        #expect(try CompactJWS(token).header.keyID == "k\(number)")
      }
    }
  }

  @Test("A header that was accepted under wide limits is checked again under narrow ones")
  func limits() throws {
    let token = compact(#"{"alg":"ES256","kid":"deep","x":[[[]]]}"#, "{}")
    #expect(try CompactJWS(token).header.keyID == "deep")
    expectError(.malformedToken) { try CompactJWS(token, limits: TokenLimits(maxDepth: 3)) }
    #expect(try CompactJWS(token).header.keyID == "deep")
  }

  @Test("A rejected header is rejected again, and one too long for the cache is parsed again")
  func rejectedAndLong() throws {
    let long = String(repeating: "k", count: 1000)
    for _ in 0..<2 {
      expectError(.malformedToken) { try CompactJWS(compact(#"{"alg":5}"#, "{}")) }
      expectError(.duplicateClaim) { try CompactJWS(compact(#"{"alg":"ES256","alg":"ES256"}"#, "{}")) }
      #expect(try CompactJWS(compact(#"{"alg":"ES256","kid":"\#(long)"}"#, "{}")).header.keyID == long)
    }
  }
}
