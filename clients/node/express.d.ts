export * from "./types/express";
