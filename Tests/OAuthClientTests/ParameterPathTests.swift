import OAuthClient
import Testing

@Suite("The parameter that an error is about")
struct ParameterPathTests {
  @Test(
    "as a JSON Pointer it leads back to the parameter, whatever its name",
    arguments: [
      ([], ""), (["session"], "/session"), (["multipart", .position(0), "name"], "/multipart/0/name"),
      (["headers", "a/b~c"], "/headers/a~1b~0c"), (["headers", ""], "/headers/"), (["é\u{301}"], "/é\u{301}"),
    ] as [(ParameterPath, String)])
  func pointer(row: (ParameterPath, String)) {
    #expect(row.0.jsonPointer == row.1)
  }
}
