import { defineConfig } from 'vite';

// The page lies behind a token that it does not know: every link is relative. Nothing is inlined, for the page's
// Content-Security-Policy lets in files alone.
export default defineConfig({
  base: './',
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    reportCompressedSize: true,
  },
});
