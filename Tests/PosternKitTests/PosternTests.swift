import PosternKit
import Testing

@Suite("Postern in this process")
struct PosternTests {}
