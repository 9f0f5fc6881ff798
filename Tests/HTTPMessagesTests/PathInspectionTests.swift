import PosternTestSupport
import Testing

@testable import HTTPMessages

@Suite("A path that another server could read differently")
struct PathInspectionTests {
  /// What some reader puts behind a dot segment without making another segment of it: a path parameter, a query, a
  /// fragment, the stream of a file, and what is taken off or dropped.
  static let endings = [
    ";", ";x=1", "%3b", "%3Bx", "%253b", "%3f", "%3Fx=1", "%253F", "%23", "%23x", "%2523", ":x",
    "%3a$DATA", "%20", "%2520", "%20%20", "%20.", ".%20", "%c0%bf", "%c0%a3x", "%e0%80%bf", "%00", "%09", "%0a",
    "%0d", "%7f",
    "%2500", "%C2%A0", "%E3%80%80", "%E2%80%8B", "%E2%80%8D", "%EF%BB%BF", "%C2%AD", "%C2%85", "%A0", "%EF%BC%9B",
    "%EF%BC%9Fx", "%EF%BC%83x", "%EF%BC%9Ax", "%CD%BEx", "%EF%B9%94x", "%EF%B9%96x", "%EF%B9%9Fx",
  ]

  @Test("a dot segment has an ending that another reader takes off", arguments: endings)
  func ending(ending: String) {
    for dots in [".", "..", "%2e%2e", ".%2E", "%252e%252e"] {
      for path in ["/a/\(dots)\(ending)/b", "/a/\(dots)\(ending)", "/a%2f\(dots)\(ending)%2Fb"] {
        #expect(PathInspection.fault(in: path) != nil, "\(path)")
      }
    }
  }

  /// Other spellings of the dots and of what separates segments.
  static let spellings = [
    "/a/%EF%BC%8E%EF%BC%8E/b", "/a/%EF%BC%8E./b", "/a/%E2%80%A4%E2%80%A4/b", "/a/%E2%80%A5/b", "/a/%EF%B8%B0/b",
    "/a/%EF%B9%92%EF%B9%92/b", "/a/%EF%BD%A1%EF%BD%A1/b", "/a/.%E2%80%8B./b", "/a/.%C2%AD./b", "/a/%20../b",
    "/a/%C2%A0../b", "/a/..%EF%BC%8Fb", "/a%E2%88%95..%E2%88%95b", "/a/..%E2%81%84b", "/a/..%EF%BC%BCb",
    "/a/..%E2%88%96b", "/a/..%C2%A5b", "/a/%EF%BC%85%EF%BC%92%EF%BD%85%EF%BC%852e/b", "/a/%EF%B9%AA2e%EF%B9%AA2e/b",
    "/a/%25EF%25BC%258E%25EF%25BC%258E/b", "/a/%2EF/..%2f", "/a/..%5cb", "/a/..%255Cb", "/a/..%c0%afb",
    "/a/%c0%ae%c0%ae/b",
    "/a/.%20./b", "/a/.%2F%2e%2e%2fb", "/a/%EF%BC%85252e%EF%BC%85252e/b", "/a/..%ef%bc%8f%2e%2e/b",
  ]

  @Test("dots or slashes are spelt in another way", arguments: spellings)
  func spelling(path: String) { #expect(PathInspection.fault(in: path) != nil) }

  static let legitimate = [
    "/a%20b", "/file%3Fname", "/..foo", "/foo..", "/...", "/.../x", "/.hidden", "/..%20foo", "/v1;x=1", "/v1;x=1/..x",
    "/projects/group%2Fname", "/a%2fb%2fc", "/50%25", "/50%2525", "/caf%C3%A9", "/caf%E9", "/.%E9tat", "/%EF%BC%9F",
    "/%E2%80%A6",
    "/a%EF%BC%8Fb", "/5%EF%BC%85", "/things:cancel", "/a:b", "/a%3Ab", "/a%3Fb=..", "/a%20..%20b", "/%20", "/x%20",
    "/a.", "/a%23b", "/%C2%A5100", "/.%E2%80%A2", "/~user/.config", "/a;b=../c", "/@scope%2fname", "/%E3%80%82a",
  ]

  @Test("a path that has one reading is rejected", arguments: legitimate)
  func passes(path: String) { #expect(PathInspection.fault(in: path) == nil) }

  @Test("a path that is encoded again and again is read without end")
  func rounds() {
    #expect(PathInspection.fault(in: "/" + String(repeating: "%25", count: 4) + "2e") == nil)
    #expect(PathInspection.fault(in: "/%2525252525252e") == "is percent-encoded too many times")
    let percents = String(repeating: "%EF%BC%8525", count: 1) + String(repeating: "25", count: 6)
    #expect(PathInspection.fault(in: "/\(percents)2e") == "is percent-encoded too many times")
  }
}
