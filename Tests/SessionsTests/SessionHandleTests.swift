import AuthEngine
import Testing

@Suite("Session handles")
struct SessionHandleTests {
  @Test(
    "a text that is no handle throws: as nil it would mean the uid's only session where a client takes one",
    arguments: ["", "typo", String(repeating: "A", count: 42), String(repeating: "A", count: 44), "é" + "A"])
  func malformed(text: String) {
    let error = #expect(throws: SessionError.self) { try SessionHandle(text) }
    guard case .notFound? = error?.kind else {
      Issue.record("another kind of error")
      return
    }
  }

  @Test("a handle reads as it was written")
  func whole() throws {
    let handle = SessionHandle.random()
    #expect(try SessionHandle(handle.text) == handle)
  }
}
