import PosternSupport
import Testing

@Suite("Names in the order in which they came")
struct ArrivalOrderTests {
  @Test("a page goes on at the wrong position once names have left, come back, or gone in great numbers")
  func pages() {
    var order = ArrivalOrder<Int>()
    var number: Int64 = 0
    func next() -> Int64 {
      number += 1
      return number
    }
    for name in 0..<1000 { order.add(name, number: next()) }
    #expect(order.names(after: 0, atMost: 3).map(\.name) == [0, 1, 2])
    #expect(order.names(after: 998, atMost: 5).map(\.name) == [998, 999])
    #expect(order.names(after: 1000, atMost: 5).isEmpty)
    for name in 0..<990 { order.remove(name) }
    #expect(order.count == 10 && order.first()?.name == 990)
    #expect(order.names(after: 0, atMost: 2).map(\.name) == [990, 991])
    // One that comes back is behind all others, once.
    order.add(991, number: next())
    #expect(order.names(after: 0, atMost: 100).map(\.name) == [990] + Array(992...999) + [991])
    #expect(order.names(after: 999, atMost: 100).map(\.name) == [999, 991])
    #expect(order.names(before: .max, atMost: 3).map(\.name) == [991, 999, 998])
    #expect(order.names(before: 994, atMost: 3) { $0 != 992 }.map(\.name) == [990])
    #expect(order.names(before: 991, atMost: 3).isEmpty && order.names(before: .max, atMost: 0).isEmpty)
    for name in 990...999 { order.remove(name) }
    #expect(order.isEmpty && order.first() == nil && order.names(after: 0, atMost: 1).isEmpty)
    order.add(1, number: next())
    #expect(order.first()?.name == 1)
  }
}
