import PosternSupport
import Testing

@Suite("Shares of what is less than was wanted")
struct FairShareTests {
  @Test(
    "a share stays while its total shrinks",
    arguments: [
      // Total, and what one has of it where 256 of 1,024 are wanted.
      (2048, 256), (1024, 256), (1023, 255), (512, 128), (143, 35), (64, 16), (54, 16), (20, 15), (16, 12), (4, 3),
      (3, 2), (2, 1), (1, 1), (0, 1),
    ])
  func scaled(total: Int, expected: Int) {
    #expect(FairShare.scaled(256, of: 1024, to: total) == expected)
  }

  @Test(
    "one has all of what has shrunk, or more than is configured", arguments: [(8, 16), (16, 16), (64, 64), (1, 4096)])
  func room(configured: Int, wanted: Int) {
    for total in 2..<wanted {
      let share = FairShare.scaled(configured, of: wanted, to: total)
      #expect(share >= 1 && share < total && share <= configured, "\(total)")
    }
    #expect(FairShare.scaled(configured, of: wanted, to: wanted) == configured)
  }
}
